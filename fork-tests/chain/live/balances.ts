/**
 * Gives test accounts tokens of a forked chain, whose issuers will not mint for us: finds the storage word that
 * `balanceOf` reads and writes it.
 */
import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  hexToBigInt,
  numberToHex,
  pad,
} from 'viem';
import type { ChainClient } from '../client.ts';

type AccessList = { address: Address; storageKeys: Hex[] }[];

/**
 * Sets the holder's balance. Only a word whose change alone turns `balanceOf` into the amount is written for good, so
 * a token that computes balances otherwise is left as it was.
 * @returns false when no such word exists.
 */
export async function setTokenBalance(
  client: ChainClient,
  token: Address,
  holder: Address,
  amount: bigint,
): Promise<boolean> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [holder] });
  const { accessList } = await client.createAccessList({ to: token, data });
  const word = pad(numberToHex(amount), { size: 32 });
  for (const { address, storageKeys } of accessList as AccessList) {
    for (const slot of storageKeys) {
      const { data: answer } = await client
        .call({ to: token, data, stateOverride: [{ address, stateDiff: [{ slot, value: word }] }] })
        // expected: the word was something else, such as the implementation's address
        .catch(() => ({ data: undefined }));
      if (answer === undefined || answer.length !== 66 || hexToBigInt(answer) !== amount) continue;
      await client.setStorageAt({ address, index: slot, value: word });
      return true;
    }
  }
  return false;
}
