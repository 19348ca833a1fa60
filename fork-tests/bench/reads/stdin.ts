/** Ends a baseline's process with the bench that started it. */
export function stopWhenStdinEnds(): void {
  process.stdin.on('end', () => process.exit(0)).resume();
}
