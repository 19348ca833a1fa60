/** Every fault that reaches the edge, as the one error shape. Unknown faults say nothing about their inside. */
import { BaseError, HttpRequestError, TimeoutError, WebSocketRequestError } from 'viem';
import { ZodError } from 'zod';
import { ApiError } from '../errors.ts';
import { firstProblem } from '../schema.ts';
import { isStoreFault } from '../store/errors.ts';

type BodyParserError = Error & { type: string; status: number };

function isBodyParserError(error: unknown): error is BodyParserError {
  return (
    error instanceof Error && 'type' in error && 'status' in error && typeof error.type === 'string'
  );
}

/** A compressed body that does not decompress: zlib's own error, marked as the client's by the body parser. */
function isCorruptBody(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    'status' in error &&
    error.status === 400 &&
    /^(?:Z_|ERR__?ERROR_FORMAT|ERR_BROTLI|ERR_ZLIB)/.test(String(error.code))
  );
}

/** True when the chain could not be asked: no connection, time-out, or an HTTP fault of the endpoint. */
export function isUpstreamFault(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  return (
    error.walk(
      (cause) =>
        cause instanceof HttpRequestError ||
        cause instanceof TimeoutError ||
        cause instanceof WebSocketRequestError,
    ) !== null
  );
}

/** Whether the refusal is for a body that is no JSON at all: JSON-RPC has a code of its own for it. */
export function isMalformedJson(error: ApiError): boolean {
  return isBodyParserError(error.cause) && error.cause.type === 'entity.parse.failed';
}

/** Maps anything thrown to an ApiError of the one table. */
export function mapError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ZodError) return new ApiError('BAD_REQUEST', firstProblem(error));
  if (error instanceof URIError) return new ApiError('BAD_REQUEST', 'the path is not valid');
  if (isBodyParserError(error)) {
    switch (error.type) {
      case 'entity.too.large':
        return new ApiError('BAD_REQUEST', 'the body is too large', { status: 413 });
      case 'entity.parse.failed':
        return new ApiError('BAD_REQUEST', 'the body is not valid JSON', { cause: error });
      case 'encoding.unsupported':
      case 'charset.unsupported':
        return new ApiError('BAD_REQUEST', 'the encoding of the body is not supported', {
          status: 415,
        });
      default:
        return new ApiError('BAD_REQUEST', 'the body could not be read');
    }
  }
  if (isCorruptBody(error)) return new ApiError('BAD_REQUEST', 'the body could not be read');
  if (isUpstreamFault(error)) {
    return new ApiError('UPSTREAM', 'the chain cannot be reached now: retry', { cause: error });
  }
  if (isStoreFault(error)) {
    return new ApiError('UPSTREAM', 'the store cannot be reached now: retry', { cause: error });
  }
  return new ApiError('SERVER', 'unexpected fault: retry', { cause: error });
}
