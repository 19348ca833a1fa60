/** One call of a tool, of either protocol era: its answer, or a refusal that a model can act on. */
import type { Counter } from 'prom-client';
import type { ApiError } from '../../runtime/errors.ts';
import { mapError } from '../../runtime/http/error-mapper.ts';
import type { Logger } from '../../runtime/logger.ts';
import { nextOf } from '../guide/advice.ts';
import type { RouteContext } from '../http/context.ts';
import { jsonText } from '../http/json-body.ts';
import type { JsonObject, Tool } from './tool.ts';

export type CallResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: JsonObject;
  isError?: true;
};

export type ToolCaller = (tool: Tool, input: JsonObject) => Promise<CallResult>;

export function createToolCaller(options: {
  context: RouteContext;
  logger: Logger;
  calls: Counter<'tool' | 'outcome'>;
}): ToolCaller {
  const { context, logger, calls } = options;
  return async (tool, input) => {
    try {
      const answer = answered(tool, await tool.run(context, input));
      calls.inc({ tool: tool.name, outcome: 'ok' });
      return answer;
    } catch (error) {
      const refusal = mapError(error);
      if (refusal.code === 'SERVER') {
        logger.warn({ err: refusal.cause ?? refusal, tool: tool.name }, 'a tool failed');
      }
      calls.inc({ tool: tool.name, outcome: refusal.code });
      return refused(refusal);
    }
  };
}

function answered(tool: Tool, body: unknown): CallResult {
  if (tool.outputSchema === undefined) return { content: [{ type: 'text', text: String(body) }] };
  return structured(jsonText(body, false));
}

/** As text and as structured content alike: hosts show a model one or the other. */
function refused(error: ApiError): CallResult {
  const next = nextOf(error.code);
  const body = { ...error.body(), ...(next === undefined ? {} : { next }) };
  return { ...structured(jsonText(body, false)), isError: true };
}

function structured(text: string): CallResult {
  return {
    content: [{ type: 'text', text }],
    structuredContent: JSON.parse(text) as JsonObject,
  };
}
