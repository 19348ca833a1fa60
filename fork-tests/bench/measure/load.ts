/** Load over keep-alive connections: requests per second that were answered as they should be. */
import autocannon from 'autocannon';

/**
 * @throws when any answer was not a 200 or a connection failed: a rate of refusals says nothing.
 */
export async function requestsPerSecond(options: {
  url: string;
  connections: number;
  seconds: number;
  headers?: Record<string, string>;
}): Promise<number> {
  const result = await autocannon({
    url: options.url,
    connections: options.connections,
    duration: options.seconds,
    ...(options.headers === undefined ? {} : { headers: options.headers }),
  });
  if (result.non2xx > 0 || result.errors > 0 || result.timeouts > 0) {
    throw new Error(
      `${options.url}: ${result.non2xx} answers other than 200, ${result.errors} errors, ${result.timeouts} time-outs`,
    );
  }
  return result.requests.total / result.duration;
}
