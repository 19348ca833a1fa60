/** Every metric of the keeper, created once. Labels are bounded: never an id, an address or a source's text. */
import type { Metrics } from '../runtime/metrics.ts';

export type KeeperMetrics = ReturnType<typeof createKeeperMetrics>;

export function createKeeperMetrics(metrics: Metrics) {
  return {
    ticks: metrics.counter('ticks_total', 'Ticks of the loop, by how they ended.', ['result']),
    tickDuration: metrics.histogram(
      'tick_duration_seconds',
      'Time of one tick.',
      [0.01, 0.05, 0.2, 1, 5, 20],
    ),
    sourcePolls: metrics.counter('source_polls_total', 'Polls of the job sources, by result.', [
      'result',
    ]),
    jobsListed: metrics.gauge('jobs_listed', 'Jobs in the last answers that passed the firewall.'),
    coverDue: metrics.gauge(
      'cover_due',
      'Steps and payouts of the cover market in the last answers that passed the firewall, by type.',
      ['type'],
    ),
    coverWaits: metrics.gauge(
      'cover_waits_seconds',
      'How long the oldest of these has been listed, by type; 0 where none was in the last minute.',
      ['type'],
    ),
    jobsMalformed: metrics.counter('jobs_malformed_total', 'Listed jobs that did not parse.'),
    jobsRefused: metrics.counter(
      'jobs_refused_total',
      'Listed jobs that the firewall refused, by reason.',
      ['reason'],
    ),
    sourcesDropped: metrics.counter(
      'sources_dropped_total',
      'Times that a source was no longer asked for a while, because of what it listed.',
    ),
    foreignStopped: metrics.gauge(
      'foreign_contracts_stopped',
      'Contracts of the allow-list whose work is stopped now for what it lost.',
    ),
    dutyBudgetLeft: metrics.gauge(
      'duty_budget_left_usdg',
      "What is left of the week's budget for duties, in dollars, as the leading keeper last read it.",
    ),
    dutiesOverBudget: metrics.counter(
      'duties_over_budget_total',
      'Times that a duty was left undone because it may cost more than is left; none where the budget is 0.',
    ),
    jobsQuarantined: metrics.gauge('jobs_quarantined', 'Jobs in quarantine now.'),
    timelinesLeftOut: metrics.counter(
      'timelines_left_out_total',
      'Jobs that never ran and of which nothing was written down, because their source lists too many.',
    ),
    decisions: metrics.counter('decisions_total', 'Decisions about jobs.', ['decision']),
    outcomes: metrics.counter('transactions_total', 'Transactions by kind and final outcome.', [
      'kind',
      'outcome',
    ]),
    feesReceived: metrics.counter(
      'fees_received_usdg_total',
      'Executor fees received, in dollars.',
    ),
    gasSpent: metrics.counter(
      'gas_spent_usdg_total',
      'Gas spent, in dollars at the ETH price of the time.',
    ),
    moves: metrics.counter(
      'moves_total',
      "Transactions of the keeper's own money (sweep, topup, approve) by how they ended.",
      ['kind', 'outcome'],
    ),
    transactionsLeft: metrics.gauge(
      'transactions_left',
      'Transactions that the ETH of a wallet is good for at the price of now.',
      ['wallet'],
    ),
    usdgBalance: metrics.gauge('usdg_balance', 'USDG of a wallet, in dollars.', ['wallet']),
    housekeeping: metrics.counter('housekeeping_total', 'Runs of the timed jobs, by result.', [
      'task',
      'result',
    ]),
    leader: metrics.gauge(
      'leader',
      '1 while this keeper leads: ticks and sends; 0 while it stands by for another one on the same database.',
    ),
    headBlock: metrics.gauge('head_block', 'Number of the last block seen.'),
    ethPrice: metrics.gauge(
      'eth_price_usd',
      'ETH price used for gas costs, in dollars; 0 when unknown.',
    ),
  };
}
