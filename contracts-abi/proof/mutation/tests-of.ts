// Which tests must notice a broken line of which file. A name is a test file without `.t.sol`; a trailing * stands for
// any ending. Invariant suites are left out: they are slow, and chance must not decide a verdict.
import { basename } from 'node:path';

const PRICES = ['Prices', 'NavOracle', 'PoolHistory', 'SnapshotNav', 'VaultGenesis'];
const VAULT = [
  'BasketVault',
  'MintOnPayment',
  'RedeemInKind',
  'VaultEvents',
  'VaultGenesis',
  'FeeIndex',
];
const ZAPPER = [
  'BasketZapper',
  'ZapperCalldata',
  'ZapperReentrancy',
  'ZapperTreasury',
  'ZapperBudget',
  'LyingRouter',
  'MintOnPayment',
];
const ORDERS = [
  'ExitEscrow',
  'LimitEscrow',
  'Schedule*',
  'EscrowedShares',
  'OrderFloors',
  'BatchedOrders',
];
const SESSION = ['SessionModule', 'SessionDefence', 'SessionGrants', 'SessionSignatures'];
const COVER_MODULE = ['CoverModule*'];
const COVER = [
  'CoverListings',
  'CoverSales',
  'CoverCalendar',
  'CoverSettlement',
  'CoverPayouts',
  'CoverFunding',
  'CoverDepth',
  'CoverReentrancy',
];

const TESTS: Record<string, readonly string[]> = {
  ProtocolPause: ['ProtocolPause'],
  BasketRegistry: ['BasketRegistry'],
  FeeIndex: ['FeeIndex', 'BasketVault'],
  GuardedTransfer: ['GuardedTransfer', 'RedeemInKind', 'BasketVault', 'CoverPayouts'],
  TickPrice: PRICES,
  PoolPrice: PRICES,
  ReferenceWindow: PRICES,
  PoolHistory: [...PRICES, 'RingShapes'],
  NavOracle: [...PRICES, 'NavsOnce', 'KeptReference'],
  GenesisCheck: ['VaultGenesis', 'Prices'],
  CodeData: VAULT,
  ShareUnits: [...VAULT, ...ZAPPER],
  BasketVault: VAULT,
  TokenReads: [...VAULT, ...ZAPPER],
  RouterSwap: ZAPPER,
  SwapDecoder: ZAPPER,
  BasketZapper: ZAPPER,
  FillPricing: ['FillPricing', ...ORDERS],
  PriceAuction: ['PriceAuction', ...ORDERS],
  OrderEscrow: ORDERS,
  ExitEscrow: ['ExitEscrow', 'EscrowedShares', 'OrderFloors'],
  BuyEscrow: ['LimitEscrow', 'Schedule*', 'OrderFloors'],
  LimitEscrow: ['LimitEscrow'],
  ScheduleEscrow: ['Schedule*'],
  TradeBounds: ['TradeBounds', 'SessionModule'],
  AccountSetup: ['AccountFactory'],
  AccountFactory: ['AccountFactory'],
  AccountsGenesis: ['AccountFactory'],
  SafeCalls: [...SESSION, ...COVER_MODULE],
  SessionGrants: ['AccountFactory', ...SESSION, ...COVER_MODULE],
  SignedActions: [...SESSION, ...COVER_MODULE],
  SessionModule: SESSION,
  CoverModule: COVER_MODULE,
  CoverMath: ['CoverMath', ...COVER],
  CoverDepth: ['CoverDepth', 'CoverListings'],
  CoverCalendar: COVER,
  CoverBook: COVER,
  CoverLedger: COVER,
  CoverSettlement: COVER,
  CoverMarket: COVER,
};

/** Test files of `all` that are named for the contract of `file`; test/proof's come with the contract they name. */
export function testsOf(file: string, all: readonly string[]): string[] {
  const name = basename(file, '.sol');
  const patterns = [...(TESTS[name] ?? []), `${name}Mutants`].map(
    (pattern) => new RegExp(`^${pattern.replace('*', '\\w*')}\\.t\\.sol$`),
  );
  return all.filter((path) => {
    const test = basename(path);
    if (path.startsWith('test/only-') || test.includes('Invariants')) return false;
    return patterns.some((pattern) => pattern.test(test));
  });
}
