/** An MCP tool as a value, made of endpoints: their schemas describe it, `invoke` answers it. */
import type { RouteContext } from '../http/context.ts';

export type JsonObject = Record<string, unknown>;

export type Tool = {
  /** Without the server's prefix. */
  name: string;
  title: string;
  /** What it does, in which units, and what to do next. */
  description: string;
  inputSchema: JsonObject;
  /** Absent where the answer is text. */
  outputSchema?: JsonObject;
  /** Whether the answer depends on the chain and its markets. */
  openWorld: boolean;
  /**
   * @returns the body that the routes answer, or text where there is no `outputSchema`.
   * @throws what the routes refuse.
   */
  run: (context: RouteContext, input: JsonObject) => Promise<unknown>;
};

/** As `tools/list` shows it. */
export type ListedTool = {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object' } & JsonObject;
  outputSchema?: { type: 'object' } & JsonObject;
  annotations: {
    title: string;
    readOnlyHint: true;
    destructiveHint: false;
    openWorldHint: boolean;
  };
};

export function listed(tool: Tool, prefix: string): ListedTool {
  const { name, title, description, inputSchema, outputSchema, openWorld } = tool;
  return {
    name: `${prefix}${name}`,
    title,
    description,
    inputSchema: { type: 'object', ...inputSchema },
    ...(outputSchema === undefined ? {} : { outputSchema: { type: 'object', ...outputSchema } }),
    // Nothing is ever sent or signed here: plans are for somebody else to sign.
    annotations: { title, readOnlyHint: true, destructiveHint: false, openWorldHint: openWorld },
  };
}
