/** `POST /relay/v1/account/execute` and `…/cover` (wire.md, Relayer): the first takes both kinds of actions. */
import type { RequestHandler } from 'express';
import { ApiError } from '../../runtime/errors.ts';
import { bodyTextOf } from '../../runtime/http/server.ts';
import type { Outcome } from '../answer.ts';
import { jsonTextProblem } from '../json-text.ts';
import { refusalError } from '../refusal.ts';
import type { Relay } from '../relay.ts';

/** @param onOutcome told of every answer by its code, for metrics. */
export function executeRoute(
  relay: Relay,
  takes: 'any' | 'cover',
  onOutcome: (outcome: Outcome) => void,
): RequestHandler {
  return async (request, response) => {
    const text = bodyTextOf(request);
    const problem = text === null ? null : jsonTextProblem(text);
    if (problem !== null) {
      throw new ApiError(
        'BAD_REQUEST',
        problem.tag === 'duplicate_key'
          ? 'the body names a key twice'
          : 'the body is nested too deep',
      );
    }
    const outcome = await relay.execute(request.body, takes);
    onOutcome(outcome);
    if (outcome.tag === 'refused') throw refusalError(outcome.refusal);
    const { status, body } = outcome.answer;
    response.status(status).set('Cache-Control', 'no-store').json(body);
  };
}
