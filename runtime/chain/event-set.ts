/**
 * Events of a contract, read many times a second: to find the one that a log is of, viem hashes the signatures of the
 * ABI's events anew for every log, one after the other.
 */
import {
  type Abi,
  type AbiEvent,
  type ContractEventName,
  type DecodeEventLogReturnType,
  decodeEventLog,
  type Hex,
  toEventSelector,
} from 'viem';

/** One of the events of `abi` with its arguments, as viem's `decodeEventLog` tells it. */
export type EventOf<abi extends Abi> = DecodeEventLogReturnType<
  abi,
  ContractEventName<abi>,
  [Hex, ...Hex[]],
  Hex
>;

export type EventSet<abi extends Abi> = {
  /** @throws where the log is of none of them, or its topics or data do not decode */
  decode(log: { topics: readonly Hex[]; data: Hex }): EventOf<abi>;
};

/** @param abi whose events none is anonymous; what else is in it does not matter */
export function eventSet<const abi extends Abi>(abi: abi): EventSet<abi> {
  const events = new Map<string | undefined, AbiEvent>(
    (abi as Abi)
      .filter((item): item is AbiEvent => item.type === 'event')
      .map((item) => [toEventSelector(item), item]),
  );
  return {
    decode({ topics, data }) {
      const event = events.get(topics[0]);
      if (event === undefined) throw new Error('a log of another event');
      const decoded = decodeEventLog({ abi: [event], topics: topics as [Hex, ...Hex[]], data });
      return decoded as unknown as EventOf<abi>;
    },
  };
}
