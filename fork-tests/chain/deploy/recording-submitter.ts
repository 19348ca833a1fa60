/** Walks a deployment's steps without sending any: what a dry run prints, and what stands after them. */
import {
  type Abi,
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  type LocalAccount,
} from 'viem';
import type { Submitter } from '../submitter.ts';

export type RecordedStep = {
  what: string;
  to?: Address;
  data: Hex;
  value: bigint;
  /** The step's own bound, where it has one. */
  gas?: bigint;
};

/** `decisions`: of a deployment under way; what is not decided yet is guessed. */
export function recordSteps(
  account: LocalAccount,
  firstNonce: number,
  decisions: ReadonlyMap<string, string | number> = new Map(),
): { submitter: Submitter; steps: RecordedStep[] } {
  const steps: RecordedStep[] = [];
  const addressAt = (step: number): Address =>
    getContractAddress({ from: account.address, nonce: BigInt(firstNonce + step) });
  return {
    steps,
    submitter: {
      async deploy(_, { name, abi, bytecode, args, gas }) {
        const address = addressAt(steps.length);
        const data = encodeDeployData({ abi, bytecode, args: args ?? [] });
        const what = `deployment of ${name}`;
        steps.push({ what, data, value: 0n, ...(gas === undefined ? {} : { gas }) });
        return address;
      },
      async write(_, call) {
        const data = encodeFunctionData<Abi, string>({
          abi: call.abi,
          functionName: call.functionName,
          args: call.args as readonly unknown[],
        });
        const what = `${call.functionName as string} on ${call.address}`;
        const { address: to, gas, value = 0n } = call;
        steps.push({ what, to, data, value, ...(gas === undefined ? {} : { gas }) });
      },
      nextAddress: async (_, ahead) => addressAt(steps.length + ahead),
      async decide(name, _, guess) {
        return (decisions.get(name) as typeof guess | undefined) ?? guess;
      },
      flush: () => Promise.resolve(),
    },
  };
}
