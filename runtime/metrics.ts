/** The one metrics factory: prom-client, names `basket_<process>_<thing>_<unit>`, bounded labels. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = {
  registry: Registry;
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  gauge<L extends string = never>(name: string, help: string, labels?: readonly L[]): Gauge<L>;
  histogram<L extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly L[],
  ): Histogram<L>;
};

/** @param processName "api", "keeper" or "relayer"; becomes part of every name. */
export function createMetrics(processName: string): Metrics {
  const registry = new Registry();
  const full = (name: string) => `basket_${processName}_${name}`;
  collectDefaultMetrics({ register: registry, prefix: `basket_${processName}_` });
  return {
    registry,
    counter: (name, help, labels = []) =>
      new Counter({ name: full(name), help, labelNames: [...labels], registers: [registry] }),
    gauge: (name, help, labels = []) =>
      new Gauge({ name: full(name), help, labelNames: [...labels], registers: [registry] }),
    histogram: (name, help, buckets, labels = []) =>
      new Histogram({
        name: full(name),
        help,
        buckets: [...buckets],
        labelNames: [...labels],
        registers: [registry],
      }),
  };
}
