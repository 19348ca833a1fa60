/** What the chain holds of ours: the deployment's contracts, the registry, our wallets. */
import { type Address, encodeFunctionData, erc20Abi, type PublicClient } from 'viem';
import { contractsOf, type Deployment } from '../../contracts-abi/deployment.ts';
import { within } from '../../runtime/deadline.ts';
import { readKnownProtocol } from '../firewall/known-protocol.ts';
import { sweepProblem } from '../../runtime/money/sweep.ts';
import { fail, type Finding, ok } from '../../runtime/doctor/finding.ts';

export async function checkDeployment(
  client: PublicClient,
  deployment: Deployment,
  timeoutMs: number,
): Promise<Finding[]> {
  const all = contractsOf(deployment);
  const codes = await within(
    Promise.all(all.map(({ address }) => client.getCode({ address }))),
    timeoutMs,
    'reading code',
  );
  const empty = all.filter((_, index) => (codes[index] ?? '0x').length <= 2);
  const fix = 'DEPLOYMENT_FILE is not of this chain, or the chain was started anew';
  if (empty.length > 0) {
    const names = empty.map(({ name, address }) => `${name} ${address}`).join(', ');
    return [fail('deployment', `no code at ${names}`, fix)];
  }
  const known = await within(readKnownProtocol(client, deployment), timeoutMs, 'the registry');
  const says = `code at all ${all.length} addresses, ${known.vaults.size} baskets in the registry`;
  const missing = deployment.baskets.filter(({ vault }) => !known.vaults.has(vault));
  if (missing.length === 0) return [ok('deployment', says)];
  const names = missing.map(({ ticker }) => ticker).join(', ');
  return [fail('deployment', `${says}, but not ${names} of the file`, fix)];
}

/** Whether our protocol and USDG would pay the executor. */
export async function checkExecutor(
  client: PublicClient,
  deployment: Deployment,
  executor: Address,
  timeoutMs: number,
): Promise<Finding> {
  // As the contracts judge a payee (BadExecutor): nobody, or a part of the protocol.
  const problem = sweepProblem(executor, deployment, []);
  if (problem !== null) {
    return fail('executor', `${executor}: ${problem}`, 'send from another key');
  }
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [executor, 0n],
  });
  try {
    await within(
      client.call({ account: deployment.exitEscrow, to: deployment.usdg, data }),
      timeoutMs,
      'the call',
    );
  } catch {
    // Expected: a token that bars an address reverts.
    const fix = 'fees cannot reach it: send from another key';
    return fail('executor', `USDG refuses a transfer to ${executor}`, fix);
  }
  return ok('executor', `${executor} may be paid`);
}
