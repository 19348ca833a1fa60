/** What a process tells the operator who started it: one sentence, without a stack. */

/** The message says what is wrong and what to do about it, and holds no secret. */
export class OperatorError extends Error {
  /** What to do about it where it ends a process, if the message does not say. */
  readonly remedy: string | null;

  constructor(message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options);
    this.name = 'OperatorError';
    this.remedy = options.remedy ?? null;
  }
}

/** What to print of an error; null for one that nobody foresaw, whose stack is wanted. */
export function operatorLine(error: unknown): string | null {
  // Of contracts-abi, which knows nothing of this folder.
  const isFile = error instanceof Error && error.name === 'DeploymentError';
  if (isFile) return error.message;
  if (!(error instanceof OperatorError)) return null;
  return error.remedy === null ? error.message : `${error.message} ${error.remedy}`;
}
