/** Ends this process by SIGKILL, as a power cut would, when the sender reaches CRASH_AT for the CRASH_NTH time. */
import type { DurablePoint } from '../../runtime/sender/context.ts';

export function crashHook(env: NodeJS.ProcessEnv): (point: DurablePoint) => void {
  const at = env.CRASH_AT;
  let left = Number(env.CRASH_NTH ?? '1');
  return (point) => {
    if (point !== at) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
