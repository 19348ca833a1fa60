/** The store cannot be opened or used as asked; the message is for an operator and carries no secret. */
export class StoreError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreError';
  }
}
