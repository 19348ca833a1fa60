/** Of a quantity as JSON-RPC writes it, up to 2^52 (zeros before it are forgiven); null: it is none, or above. */
export function quantityOf(value: unknown): number | null {
  if (typeof value !== 'string' || !/^0x0*[0-9a-f]{1,13}$/i.test(value)) return null;
  return Number(value);
}
