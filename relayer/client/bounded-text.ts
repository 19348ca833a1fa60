/** Larger answers are none of an api's or a relayer's. */
const MOST_BYTES = 1_000_000;

/**
 * The text of an answer, or null where it goes on beyond what such an answer may have: the rest is not read, so that
 * whoever answers without end fills no memory. Bytes are counted after decompression.
 * @throws what reading throws, the abort of the request's signal among it
 */
export async function boundedText(response: Response): Promise<string | null> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MOST_BYTES) {
      // What ending the connection comes to is of no interest.
      reader.cancel().catch(() => undefined);
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
