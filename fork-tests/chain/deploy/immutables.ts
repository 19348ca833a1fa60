/**
 * What each immutable of our contracts has to be: by the deployment file, by Safe's published code, or by what follows
 * from the rest. The table has a place for every immutable of every contract that stands: one more in the Solidity does
 * not compile here until it is said what it has to be.
 */
import {
  type Address,
  concat,
  domainSeparator,
  getContractAddress,
  type Hex,
  hexToBigInt,
  keccak256,
  pad,
  stringToHex,
} from 'viem';
import {
  BPS,
  CHAIN_ID,
  MAX_MANAGEMENT_FEE_BPS,
  MIN_MANAGEMENT_FEE_BPS,
} from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { basketVaultAbi } from '../../../contracts-abi/generated/index.ts';
import { genuine } from './artifacts.ts';
import { type Check, type Read, Rule } from './checks.ts';
import type { ImmutableOf, OwnContract, Standing, Word } from './code.ts';

export type Context = {
  deployment: Deployment;
  address: Address;
  /** The contract's own immutables. */
  own: Standing['immutables'];
  read: Read;
};

/** A value, a Rule, a promise of one, or who else judges it. */
type Expected<C extends OwnContract> = Readonly<Record<ImmutableOf<C>, unknown>>;

/** Neither the file nor the chain says what it has to be: the plan does, and without one the operator is told. */
const BY_PLAN = Symbol('by the plan');
/** Between the start block and the newest one: verify-baskets.ts. */
const BY_HISTORY = Symbol('by the history');
/** By what stands at it: verify-own.ts and verify-externals.ts compare that to the byte. */
const BY_CODE = Symbol('by its code');

const EXPECTED: { readonly [C in OwnContract]: (context: Context) => Expected<C> } = {
  protocolPause: () => ({}),
  basketRegistry: () => ({}),
  navOracle: ({ deployment: { usdg, weth, wethUsdgPool } }) => ({
    usdg,
    weth,
    wethUsdgPool,
    wethMinLiquidity: BY_PLAN,
  }),
  basketZapper: ({ deployment }) => {
    const { usdg, weth, registry, pause } = deployment;
    return {
      usdg,
      weth,
      registry,
      pause,
      router: deployment.swapRouter02,
      uniswapFactory: deployment.uniswapV3Factory,
    };
  },
  exitEscrow: ({ deployment }) => escrow(deployment),
  limitEscrow: ({ deployment }) => escrow(deployment),
  scheduleEscrow: ({ deployment }) => escrow(deployment),
  coverMarket: ({ deployment: { usdg, registry, oracle, pause } }) => ({
    usdg,
    registry,
    oracle,
    pause,
  }),
  sessionModule: ({ deployment, address }) => {
    const { usdg, registry, oracle, zapper, pause, coverModule, accountFactory } = deployment;
    return {
      usdg,
      registry,
      oracle,
      zapper,
      pause,
      coverModule,
      factory: accountFactory,
      ...domainWords('basket account', address),
    };
  },
  coverModule: ({ deployment, address }) => {
    const { usdg, oracle, pause, exitEscrow, sessionModule, coverMarket } = deployment;
    return {
      usdg,
      oracle,
      pause,
      exitEscrow,
      session: sessionModule,
      market: coverMarket,
      ...domainWords('basket cover', address),
    };
  },
  accountFactory: ({ own }) => ({
    safeSingleton: BY_CODE,
    safeProxyFactory: BY_CODE,
    fallbackHandler: BY_CODE,
    accountSetup: BY_CODE,
    // As Safe's factory hashes it when it creates a proxy of this singleton.
    _proxyInitCodeHash: keccak256(
      concat([genuine('SafeProxy').bytecode, pad(own['safeSingleton'] as Address)]),
    ),
  }),
  accountSetup: ({ address }) => ({ self: address }),
  basketVault: ({ deployment: { registry }, address, own, read }) => {
    const name = read(address, basketVaultAbi, 'name') as Promise<string>;
    const word = async (of: keyof ReturnType<typeof domainWords>) =>
      domainWords(await name, address)[of];
    return {
      registry,
      genesisAt: BY_HISTORY,
      // As the constructor takes it: which fee it is says the plan.
      managementFeeBps: new Rule(`${MIN_MANAGEMENT_FEE_BPS} to ${MAX_MANAGEMENT_FEE_BPS}`, (fee) =>
        isBetween(fee, MIN_MANAGEMENT_FEE_BPS, MAX_MANAGEMENT_FEE_BPS),
      ),
      _feeRate: feeRate(own['managementFeeBps'] as bigint),
      constituentCount: read(address, basketVaultAbi, 'constituents').then((parts) =>
        BigInt((parts as unknown[]).length),
      ),
      // The vault's first creation, whose code is what the constructor wrote; constituents are read out of it.
      _composition: getContractAddress({ from: address, nonce: 1n }),
      _cachedDomainSeparator: word('_cachedDomainSeparator'),
      _cachedChainId: word('_cachedChainId'),
      _cachedThis: word('_cachedThis'),
      _hashedName: word('_hashedName'),
      _hashedVersion: word('_hashedVersion'),
      _name: word('_name'),
      _version: word('_version'),
    };
  },
};

/** One check for each immutable of a contract whose code is as built. `what` names the contract. */
export function immutableChecks(what: string, contract: OwnContract, context: Context): Check[] {
  const expected: Readonly<Record<string, unknown>> = EXPECTED[contract](context);
  const names = new Set([...Object.keys(context.own), ...Object.keys(expected)]);
  return [...names].flatMap((name): Check[] => {
    const value = name in expected ? expected[name] : 'no such immutable';
    if (value === BY_PLAN || value === BY_HISTORY || value === BY_CODE) return [];
    const actual = Promise.resolve<Word | undefined>(context.own[name]);
    return [{ what: `${what} ${name}`, actual, expected: value }];
  });
}

function escrow({ usdg, registry, oracle, zapper, pause, swapRouter02 }: Deployment) {
  return { usdg, registry, oracle, zapper, pause, router: swapRouter02 };
}

/** What OpenZeppelin's EIP712 keeps of a domain; all of ours are of version 1. */
function domainWords(name: string, verifyingContract: Address) {
  const version = '1';
  return {
    _cachedDomainSeparator: domainSeparator({
      domain: { name, version, chainId: CHAIN_ID, verifyingContract },
    }),
    _cachedChainId: BigInt(CHAIN_ID),
    _cachedThis: verifyingContract,
    _hashedName: keccak256(stringToHex(name)),
    _hashedVersion: keccak256(stringToHex(version)),
    _name: shortString(name),
    _version: shortString(version),
  };
}

/** OpenZeppelin's ShortStrings: 31 bytes and their number; 0xff alone says that the text is in storage. */
function shortString(text: string): Hex {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > 31) return pad('0xff');
  const length = pad(`0x${bytes.length.toString(16).padStart(2, '0')}`);
  const word = hexToBigInt(stringToHex(text, { size: 32 })) | hexToBigInt(length);
  return pad(`0x${word.toString(16).padStart(2, '0')}`);
}

/** -ln(1 - fee) x 1e36, as FeeIndex.sol sums it. */
function feeRate(feeBps: bigint): bigint {
  // The series ends for a fee below the whole alone; what is refused as a fee has no rate.
  if (feeBps > MAX_MANAGEMENT_FEE_BPS) return 0n;
  const one = 10n ** 36n;
  const fee = (feeBps * one) / BPS;
  let rate = 0n;
  let power = fee;
  for (let n = 1n; power !== 0n; n += 1n) {
    rate += power / n;
    power = (power * fee) / one;
  }
  return rate;
}

const isBetween = (value: unknown, least: bigint, most: bigint): boolean =>
  typeof value === 'bigint' && value >= least && value <= most;
