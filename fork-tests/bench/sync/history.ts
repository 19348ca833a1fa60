/** A chain with a history to index: trades one by one, and thousands of transfers in few transactions. */
import { encodeFunctionData, erc20Abi, maxUint256, multicall3Abi, numberToHex } from 'viem';
import { SHARE } from '../../../contracts-abi/constants.ts';
import { basketZapperAbi } from '../../../contracts-abi/generated/index.ts';
import { connect, MULTICALL3, write } from '../../chain/client.ts';
import { devAccount } from '../../chain/seed/accounts.ts';
import { type Manifest, vaultOf } from '../../chain/seed/manifest.ts';
import { buySwaps } from '../../harness/trade.ts';

const TRADES = 30;
const TRANSFER_BLOCKS = 60;
const TRANSFERS_A_BLOCK = 400;
const RECEIVERS = 64;
const NEVER = 4_000_000_000n;

export async function makeHistory(
  url: string,
  manifest: Manifest,
  say: (line: string) => void,
): Promise<void> {
  const client = connect(url);
  const { deployment } = manifest;
  const { account } = devAccount('alice');
  const vault = vaultOf(manifest, 'HEALTH');
  await write(client, account, {
    address: deployment.usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [deployment.zapper, maxUint256],
  });
  say(`${TRADES} buys`);
  for (let count = 0; count < TRADES; count += 1) {
    const { swaps, cost } = await buySwaps(client, deployment, vault, SHARE);
    await write(client, account, {
      address: deployment.zapper,
      abi: basketZapperAbi,
      functionName: 'buy',
      args: [vault, (cost * 102n) / 100n, 0n, swaps, account.address, account.address, NEVER],
    });
  }
  say(`${TRANSFER_BLOCKS * TRANSFERS_A_BLOCK} transfers`);
  await write(client, account, {
    address: vault,
    abi: erc20Abi,
    functionName: 'transfer',
    args: [MULTICALL3, SHARE],
  });
  const calls = Array.from({ length: TRANSFERS_A_BLOCK }, (_, index) => ({
    target: vault,
    allowFailure: false,
    callData: encodeFunctionData({
      abi: erc20Abi,
      functionName: 'transfer',
      args: [numberToHex(1_000 + (index % RECEIVERS), { size: 20 }), BigInt(index + 1)],
    }),
  }));
  for (let count = 0; count < TRANSFER_BLOCKS; count += 1) {
    await write(client, account, {
      address: MULTICALL3,
      abi: multicall3Abi,
      functionName: 'aggregate3',
      args: [calls],
    });
  }
}
