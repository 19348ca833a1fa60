/** Open orders that no NAV near today's triggers, written beside those that the chain knows. */
import { type Hex, keccak256, toHex } from 'viem';
import type { OrderRow } from '../../../api/orders/order-tables.ts';
import { type ApiTables, apiMigrations } from '../../../api/tables.ts';
import { openStore } from '../../../runtime/store/store.ts';
import type { Manifest } from '../../chain/seed/manifest.ts';

const ROWS_PER_INSERT = 500;
const DOLLAR = 10n ** 18n;
/** In no kind of basket of the seeded chain is a share worth less than one dollar or more than a thousand. */
const BELOW_ANY_NAV = DOLLAR;
const ABOVE_ANY_NAV = 1_000n * DOLLAR;

/** Spread over all baskets and kinds: stops, take-profits, brackets and limits, each at a level of its own. */
export async function writeResting(
  databaseUrl: string,
  { deployment }: Manifest,
  count: number,
): Promise<void> {
  const store = await openStore<ApiTables>({ url: databaseUrl, migrations: apiMigrations });
  try {
    await store.db.transaction().execute(async (trx) => {
      for (let start = 0; start < count; start += ROWS_PER_INSERT) {
        const rows = Array.from({ length: Math.min(ROWS_PER_INSERT, count - start) }, (_, index) =>
          restingRow(start + index, deployment),
        );
        await trx.insertInto('order_index').values(rows).execute();
      }
    });
  } finally {
    await store.close();
  }
}

function restingRow(index: number, deployment: Manifest['deployment']): OrderRow {
  const vault = deployment.baskets[index % deployment.baskets.length]?.vault ?? '0x';
  const level = BigInt(index) * 1_000_003n;
  const below = (BELOW_ANY_NAV - level).toString();
  const above = (ABOVE_ANY_NAV + level).toString();
  const kind = index % 4;
  const isLimit = kind === 3;
  return {
    id: numbered(index, 'order'),
    escrow: isLimit ? deployment.limitEscrow : deployment.exitEscrow,
    kind: isLimit ? 'limit' : 'exit',
    owner: numbered(index % 5_000, 'owner').slice(0, 42),
    vault,
    amount: DOLLAR.toString(),
    stop_nav: kind === 0 || kind === 2 ? below : '0',
    tp_nav: kind === 1 || kind === 2 ? above : '0',
    trigger_nav: isLimit ? below : '0',
    deadline: 4_000_000_000,
    // As old as the deployment: they stand before the triggered ones.
    opened_block: deployment.startBlock,
    opened_log: 1_000 + index,
    closed_block: null,
    closed_as: null,
  };
}

function numbered(index: number, what: string): Hex {
  return keccak256(toHex(`${what} ${index}`));
}
