/**
 * Builds the local chain on a bare Anvil: externals, market, protocol, funds and history, from nothing to the present.
 */
import { localTokenAbi, localWethAbi } from '../../../contracts-abi/generated/index.ts';
import type { ChainClient } from '../client.ts';
import { publishWeeks } from '../deploy/cover-steps.ts';
import { deployExternals } from '../deploy/externals.ts';
import { seedNeeds } from '../deploy/plan.ts';
import { deployProtocol, type Progress } from '../deploy/protocol.ts';
import { verifyDeployment } from '../deploy/verify.ts';
import { submitInBlocks } from '../submitter.ts';
import { devAccounts, FUNDS, ROLES } from './accounts.ts';
import { seedCoverBook } from './cover-book.ts';
import { HISTORY_SECONDS, tradeHistory } from './history.ts';
import type { Manifest, SeededToken } from './manifest.ts';
import { COVER_WEEKS, protocolPlan } from './plan.ts';
import { deployMaker, seedToken, seedWeth, touchCoverPools } from './pools.ts';
import { TOKENS } from './tokens.ts';

/**
 * Anvil arguments that building needs: it starts in the past, and growing the pools' observation slots takes
 * transactions of 100 million gas. `now` is unix seconds.
 */
export function buildArguments(now: number): string[] {
  return [
    '--timestamp',
    String(now - HISTORY_SECONDS),
    '--gas-limit',
    '1000000000',
    // Without it Anvil keeps a copy of the growing state for each block, and the build takes three times as long.
    '--prune-history',
  ];
}

/** @returns the manifest of what stands. `now` is where the chain's time ends (unix seconds). */
export async function buildChain(
  client: ChainClient,
  now: number,
  progress: Progress,
): Promise<Manifest> {
  const accounts = devAccounts();
  const issuer = accounts.deployer.account;
  const makerOwner = accounts.maker.account;
  for (const role of ROLES) {
    const { address } = accounts[role].account;
    await client.setBalance({ address, value: FUNDS[role].eth });
  }

  const submitter = await submitInBlocks(client);
  progress('deploying Uniswap, Safe and Multicall3');
  const externals = await deployExternals(client, submitter, issuer);
  const mintUsdg = (to: `0x${string}`, amount: bigint) =>
    submitter.write(issuer, {
      address: externals.usdg,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [to, amount],
    });
  for (const role of ROLES) {
    if (FUNDS[role].usdg > 0n) await mintUsdg(accounts[role].account.address, FUNDS[role].usdg);
  }

  const maker = await deployMaker(submitter, issuer, makerOwner, externals.uniswapV3Factory);
  await mintUsdg(maker, 20_000_000_000n * 10n ** 6n);
  const seeder = { submitter, issuer, makerOwner, maker, externals };
  progress('creating pools: WETH');
  const tokens: SeededToken[] = [await seedWeth(seeder, TOKENS)];
  for (const [index, seed] of TOKENS.entries()) {
    progress(`creating pools: ${index + 1} of ${TOKENS.length}, ${seed.symbol}`);
    tokens.push(await seedToken(seeder, seed));
    await submitter.flush();
  }

  await client.increaseTime({ seconds: 1 });
  await touchCoverPools(seeder, tokens);

  const plan = protocolPlan(tokens, externals, {
    owner: issuer.address,
    guardian: accounts.guardian.account.address,
    treasury: accounts.treasury.account.address,
  });
  for (const [token, amount] of seedNeeds(plan.baskets)) {
    if (token === externals.weth) {
      await submitter.write(issuer, {
        address: token,
        abi: localWethAbi,
        functionName: 'deposit',
        args: [],
        value: amount,
      });
    } else {
      await submitter.write(issuer, {
        address: token,
        abi: localTokenAbi,
        functionName: 'mint',
        args: [issuer.address, amount],
      });
    }
  }
  await submitter.flush();
  const deployed = await deployProtocol(client, submitter, issuer, plan, progress);
  const { deployment } = deployed;
  progress('checking the deployment');
  await verifyDeployment(client, deployment, { ...deployed, plan, deployer: issuer.address });
  const manifest = { deployment, maker, tokens };
  await client.setAutomine(true);
  await tradeHistory(client, makerOwner, manifest, now, progress, async () => {
    // The calendar of the beginning has run out meanwhile.
    const later = await submitInBlocks(client);
    await publishWeeks(client, later, issuer, deployment.coverMarket, COVER_WEEKS);
    await later.flush();
    await client.setAutomine(true);
  });
  progress('filling the cover book');
  await seedCoverBook(client, issuer, deployment);
  return manifest;
}
