/** What both protocol eras serve: who this is, and the tools under their prefixed names. */
import type { CallResult, ToolCaller } from './call.ts';
import { type JsonObject, type ListedTool, listed, type Tool } from './tool.ts';

export type ToolServer = {
  info: { name: string; title: string; version: string; websiteUrl: string };
  instructions: string;
  listed: readonly ListedTool[];
  /** Null where no tool has this name. */
  call: (name: string, input: JsonObject) => Promise<CallResult> | null;
};

export function createToolServer(options: {
  tools: readonly Tool[];
  prefix: string;
  websiteUrl: string;
  caller: ToolCaller;
}): ToolServer {
  const { tools, prefix, websiteUrl, caller } = options;
  const byName = new Map(tools.map((tool) => [`${prefix}${tool.name}`, tool]));
  return {
    info: { name: 'basket-index', title: 'Basket Index Trading', version: '1.0.0', websiteUrl },
    instructions: `Tokenized index baskets on one chain, bought and sold for USDG. Every tool only reads or builds: plans come back unsigned, and the wallet or the host signer signs and sends them. Never pass a private key to any tool. Start with ${prefix}guide.`,
    listed: tools.map((tool) => listed(tool, prefix)),
    call: (name, input) => {
      const tool = byName.get(name);
      return tool === undefined ? null : caller(tool, input);
    },
  };
}
