/** What an error says, for readiness, log messages and terminals: one line, without what a secret may stand in. */
import { redactSecrets, redactUrls } from './logger.ts';

const MOST_CHARACTERS = 300;

/**
 * viem's messages repeat the whole request, its body and the URL with the operator's API key: the first line alone is
 * kept, and of a URL in it scheme and host. 32 bytes of hex and control characters, which could forge lines, go too.
 */
export function faultLine(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  const text = 'shortMessage' in error ? String(error.shortMessage) : error.message;
  const line = text.split(/[\r\n]/).find((part) => part.trim() !== '') ?? error.name;
  return redactSecrets(redactUrls(line))
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, MOST_CHARACTERS);
}
