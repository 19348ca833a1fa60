/** Why a deployment stops, in words for the operator: one clear line, or a list under one. */
export class DeployError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DeployError';
  }
}
