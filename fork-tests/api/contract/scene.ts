/** Whom the walk acts for, and on what chain. */
import type { Hex } from 'viem';
import type { Fork } from '../../harness/fork.ts';
import type { Agent } from '../../relayer/agent.ts';
import type { Exchange } from './document-check.ts';
import type { Recorder } from './recorder.ts';

export type Scene = {
  fork: Fork;
  ask: Recorder;
  /** As requests name it. */
  agent: { owner: Hex; key: Hex };
  signer: Agent;
};

export function bodyOf({ status, text }: Exchange): unknown {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as unknown;
}
