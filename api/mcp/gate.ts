/**
 * What the SDKs leave to their host, checked before a message reaches them: Host and Origin (a page in a browser must
 * not reach a server on its own machine by a rebound name), Accept, and one JSON-RPC message per request.
 */
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import type { Request, RequestHandler } from 'express';
import { ApiError, type StatusOverride } from '../../runtime/errors.ts';
import { redactSecrets } from '../../runtime/logger.ts';
import { PASTED_KEY_WARNING } from '../../runtime/schema.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
/** Arguments of ours have two, what clients say of themselves a few. */
const MOST_LEVELS = 32;
/** An address to listen on that is no address to be called by. */
const WILDCARDS = new Set(['0.0.0.0', '::']);

/**
 * Hostnames, without ports, that a request may name in Host and whose pages may call: this machine's own, that of the
 * public address, the address listened on, and those that the operator adds.
 */
export function allowedHostnames(settings: {
  publicUrl: string;
  listenHost: string;
  added: readonly string[];
}): string[] {
  const { publicUrl, listenHost, added } = settings;
  const listening = WILDCARDS.has(listenHost)
    ? []
    : [hostnameOf(`http://${bracketed(listenHost)}`)];
  return [
    ...new Set([
      ...LOOPBACK,
      hostnameOf(publicUrl),
      ...listening,
      ...added.map((host) => hostnameOf(`http://${bracketed(host)}`)),
    ]),
  ];
}

/** As browsers and the checks spell it: lower case, IPv6 in its brackets. */
function hostnameOf(url: string): string {
  return new URL(url).hostname;
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** A name and a port at most: the check reads a URL out of it, in which `evil@localhost` and `localhost/x` name us. */
function isPlain(host: string | undefined): boolean {
  return host !== undefined && /^[^@/\\?#]+$/.test(host);
}

/** 403 for names and pages that are not ours. Neither is repeated: both are the client's text. */
export function refuseStrangers(hostnames: string[]): RequestHandler {
  return (request, _response, next) => {
    const { host, origin } = request.headers;
    const refusal =
      !isPlain(host) || !validateHostHeader(host, hostnames).ok
        ? 'this Host is not served here: the operator can add it to MCP_ALLOWED_HOSTS'
        : !validateOriginHeader(origin, hostnames).ok
          ? 'pages of this Origin may not call: the operator can add its host to MCP_ALLOWED_HOSTS'
          : null;
    next(refusal === null ? undefined : invalid(refusal, 403));
  };
}

/**
 * Any client that takes JSON is served, however it says so (absent, `*\/*`, JSON alone). The SDKs want both of their
 * types named, so that is what they are told.
 */
export const acceptJson: RequestHandler = (request, _response, next) => {
  if (request.accepts('application/json') === false) {
    next(invalid('answers are application/json: Accept must allow it', 406));
    return;
  }
  request.headers.accept = 'application/json, text/event-stream';
  next();
};

/** @throws ApiError BAD_REQUEST for what is not one JSON-RPC message. */
export const oneMessage: RequestHandler = (request, _response, next) => {
  next(problemOf(request) ?? undefined);
};

function problemOf(request: Request): ApiError | null {
  const body: unknown = request.body;
  if (body === undefined) return invalid('expected a JSON-RPC message as the body');
  if (Array.isArray(body)) return invalid('batches are not taken: send one message per request');
  if (typeof body !== 'object' || body === null) return invalid('expected a JSON object');
  if (isNestedDeeper(body, MOST_LEVELS)) return invalid('the message is nested too deeply');
  const { jsonrpc, id, method } = body as Record<string, unknown>;
  const isAnswer = 'result' in body || 'error' in body;
  if (jsonrpc !== '2.0' || (typeof method !== 'string' && !isAnswer)) {
    return invalid('expected a JSON-RPC 2.0 message with "jsonrpc": "2.0" and a method');
  }
  if (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id)) {
    return invalid('id: expected a string or a whole number');
  }
  // An id is sent back as it came: not this one.
  if (typeof id === 'string' && redactSecrets(id) !== id)
    return invalid(`id: ${PASTED_KEY_WARNING}`);
  return null;
}

/** Level by level: what the SDKs read a message with goes down by a call a level, and 30,000 of them end in a 500. */
function isNestedDeeper(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > most) return true;
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each) : [],
    );
  }
  return false;
}

function invalid(message: string, status: StatusOverride = 400): ApiError {
  return new ApiError('BAD_REQUEST', message, { status });
}
