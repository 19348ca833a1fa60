/**
 * The real Prometheus (Debian's) scrapes the three real processes and evaluates the alert rules of grafana/.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalChain, startLocalChain } from '../chain/start.ts';
import { createStack, freePort, type Stack, until } from '../e2e/stack.ts';

const grafana = join(import.meta.dirname, '..', '..', 'grafana');
const data = mkdtempSync(join(tmpdir(), 'basket-prometheus-'));
let chain: LocalChain;
let stack: Stack;
let stopPrometheus: () => Promise<void> = async () => undefined;
let url = '';

beforeAll(async () => {
  chain = await startLocalChain({ port: 0 });
  stack = await createStack({ rpcUrl: chain.url, deployment: chain.manifest.deployment });
  await stack.start('api');
  await Promise.all([stack.start('keeper'), stack.start('relayer')]);

  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const config = readFileSync(join(grafana, 'prometheus.yml'), 'utf8')
    .replace('127.0.0.1:8080', new URL(stack.urls.api).host)
    .replace('127.0.0.1:8081', new URL(stack.urls.relayer).host)
    .replace('127.0.0.1:8082', new URL(stack.urls.keeper).host)
    .replace('scrape_interval: 5s', 'scrape_interval: 1s')
    .replace('evaluation_interval: 15s', 'evaluation_interval: 1s');
  writeFileSync(join(data, 'prometheus.yml'), config);
  writeFileSync(join(data, 'alerts.yml'), readFileSync(join(grafana, 'alerts.yml')));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(data, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(data, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  stopPrometheus = async () => {
    child.kill('SIGTERM');
    await exited;
  };
});

afterAll(async () => {
  await stopPrometheus();
  await stack?.stop();
  await chain?.stop();
  rmSync(data, { recursive: true, force: true });
});

async function query(expression: string) {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const body = (await response.json()) as {
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  return body.data.result;
}

describe('Prometheus', () => {
  it('accepts the committed configuration and rules', () => {
    const said = execFileSync('promtool', ['check', 'config', join(grafana, 'prometheus.yml')], {
      encoding: 'utf8',
    });
    expect(said).toContain(
      `${readFileSync(join(grafana, 'alerts.yml'), 'utf8').match(/- alert:/g)?.length} rules found`,
    );
  });

  it('says that the budget for duties is spent where work waits for it, and only then', () => {
    const left = 'basket_keeper_duty_budget_left_usdg{job="keeper",instance="a"}';
    const refused = 'basket_keeper_duties_over_budget_total{job="keeper",instance="a"}';
    const firing = (minutes: number, alerts: object[]) => ({
      eval_time: `${minutes}m`,
      alertname: 'KeeperDutyBudgetSpent',
      exp_alerts: alerts,
    });
    const summary =
      "Cover work that others wait for is left undone: $0.002 of the week's budget for duties is left.";
    const look =
      'The note of `duties` in /ready says what it needs: KEEPER_DUTY_BUDGET_USDG; npm run keeper -- statement.';
    const alert = {
      exp_labels: { job: 'keeper', instance: 'a' },
      exp_annotations: { summary, look },
    };
    const tests = join(data, 'duties.json');
    writeFileSync(
      tests,
      // JSON is YAML.
      JSON.stringify({
        rule_files: ['alerts.yml'],
        evaluation_interval: '15s',
        tests: [
          {
            interval: '15s',
            input_series: [
              { series: left, values: '0.002x120' },
              // Refused for five minutes, from the fifth on.
              { series: refused, values: '0x20 1+1x20 21x79' },
              // All is well with another keeper, or it has nothing left and nobody asks.
              { series: left.replace('"a"', '"b"'), values: '0x120' },
              { series: refused.replace('"a"', '"b"'), values: '3x120' },
            ],
            alert_rule_test: [firing(4, []), firing(9, [alert]), firing(20, [])],
          },
        ],
      }),
    );
    const said = execFileSync('promtool', ['test', 'rules', tests], { encoding: 'utf8' });
    expect(said).toContain('SUCCESS');
  });

  it('says that a snapshot waits, long before its hour is over, and that one was missed', () => {
    const of = (name: string, type: string) =>
      `basket_keeper_cover_${name}{job="keeper",instance="a",type="${type}"}`;
    const waits = {
      exp_labels: { type: 'snapshot' },
      exp_annotations: {
        summary:
          'A snapshot of the cover market has waited for 15 of its 60 minutes: missed, the week can only be voided.',
        look: "The notes of `cover` and `duties` in the keeper's /ready; npm run keeper -- why <id>; `skipped` of /v1/cover/payouts.",
      },
    };
    const missed = {
      exp_labels: {},
      exp_annotations: {
        summary:
          "A basket's week of cover missed a snapshot: everybody is given back what he put in.",
        look: "The keeper's log around the close and the settlement; who voids it is paid.",
      },
    };
    const at = (minutes: number, alertname: string, alerts: object[]) => ({
      eval_time: `${minutes}m`,
      alertname,
      exp_alerts: alerts,
    });
    const tests = join(data, 'cover.json');
    writeFileSync(
      tests,
      JSON.stringify({
        rule_files: ['alerts.yml'],
        evaluation_interval: '30s',
        tests: [
          {
            interval: '30s',
            // Due from the fifth minute on, for an hour; then it is missed.
            input_series: [
              { series: of('waits_seconds', 'snapshot'), values: '0x9 0+30x119 0x180' },
              // Voided within seconds; the gauge forgets it after a minute.
              { series: of('waits_seconds', 'void'), values: '0x129 1 31 0x180' },
            ],
            alert_rule_test: [
              at(19, 'CoverSnapshotWaits', []),
              at(25, 'CoverSnapshotWaits', [waits]),
              at(63, 'CoverWeekMissed', []),
              at(70, 'CoverWeekMissed', [missed]),
              at(140, 'CoverWeekMissed', []),
              at(75, 'CoverSnapshotWaits', []),
            ],
          },
        ],
      }),
    );
    const said = execFileSync('promtool', ['test', 'rules', tests], { encoding: 'utf8' });
    expect(said).toContain('SUCCESS');
  });

  it('scrapes all three processes', async () => {
    const up = await until('three targets up', async () => {
      try {
        const result = await query('up == 1');
        return result.length === 3 ? result : null;
      } catch {
        // expected while it starts
        return null;
      }
    });
    expect(new Set(up.map(({ metric }) => metric.job))).toEqual(
      new Set(['api', 'keeper', 'relayer']),
    );
  });

  it('finds every metric that a rule names, and no label with an address of a user', async () => {
    const texts = await Promise.all(
      Object.values(stack.urls).map(async (base) => (await fetch(`${base}/metrics`)).text()),
    );
    const exported = texts.join('\n');
    const rules = readFileSync(join(grafana, 'alerts.yml'), 'utf8');
    const named = new Set(rules.match(/basket_[a-z_]+/g));
    expect(named.size).toBeGreaterThan(6);
    for (const name of named)
      expect([name, exported.includes(`# TYPE ${name} `)]).toEqual([name, true]);
    // The keeper's and the relayer's own wallets are the only addresses.
    const addresses = new Set(exported.match(/0x[0-9a-fA-F]{40}/g));
    expect(addresses.size).toBe(2);
  });

  it('evaluates every rule without an error, and none fires while all is well', async () => {
    type Rules = {
      data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
    };
    const rules = await until('rules evaluated', async () => {
      const body = (await (await fetch(`${url}/api/v1/rules`)).json()) as Rules;
      const all = body.data.groups.flatMap((group) => group.rules);
      return all.length > 0 && all.every(({ health }) => health !== 'unknown') ? all : null;
    });
    expect(rules.map(({ health }) => health)).toEqual(rules.map(() => 'ok'));
    expect(rules.filter(({ state }) => state === 'firing')).toEqual([]);
  });
});
