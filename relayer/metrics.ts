/** What the relayer tells beside the HTTP and sender metrics; read when it is scraped. */
import { Gauge } from 'prom-client';
import { toNumber } from '../contracts-abi/rounding.ts';
import type { Metrics } from '../runtime/metrics.ts';

export function watchRelay(
  metrics: Metrics,
  read: {
    inFlight: () => number;
    gasSpentWei: () => bigint;
    gasBudgetWei: bigint;
    limitedKeys: () => number;
    trailDropped: () => number;
  },
): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    metrics.registry.registerMetric(
      new Gauge({
        name: `basket_relayer_${name}`,
        help,
        registers: [],
        collect() {
          this.set(value());
        },
      }),
    );
  };
  gauge('requests_in_flight_count', 'Actions worked on or waited for.', read.inFlight);
  gauge('gas_spent_today_eth', 'ETH spent on gas in this UTC day.', () =>
    toNumber(read.gasSpentWei(), 18),
  );
  gauge('gas_budget_left_eth', 'ETH that may still be spent on gas in this UTC day.', () => {
    const left = read.gasBudgetWei - read.gasSpentWei();
    return left > 0n ? toNumber(left, 18) : 0;
  });
  gauge('rate_limited_keys_count', 'Session keys whose rate is remembered.', read.limitedKeys);
  gauge(
    'trail_lines_dropped_count',
    'Lines about actions that were left out since the start.',
    read.trailDropped,
  );
}
