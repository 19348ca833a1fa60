/** What `npm start` prints when all is ready: URLs, funded accounts, three lines to try. */

export type SummaryInput = {
  chain: string;
  api: string;
  relayer: string;
  keeper: string;
  accounts: readonly { name: string; address: string; privateKey: string }[];
  seconds: string;
};

export function summary(input: SummaryInput): string {
  const alice = input.accounts.find(({ name }) => name === 'alice') ?? input.accounts[0];
  const rule = '─'.repeat(100);
  return [
    '',
    rule,
    `All ready in ${input.seconds} s. Ctrl-C stops everything.`,
    '',
    `  chain    ${input.chain}   (id 4663)`,
    `  api      ${input.api}`,
    `  relayer  ${input.relayer}`,
    `  keeper   ${input.keeper}   (/metrics /ready)`,
    '',
    '  Funded accounts (local chain only, never use these keys elsewhere)',
    ...input.accounts.map(
      ({ name, address, privateKey }) => `  ${name.padEnd(9)}${address}  ${privateKey}`,
    ),
    '',
    '  Try:',
    `  curl -s '${input.api}/v1/markets?prices=0&pretty=1'`,
    `  curl -s '${input.api}/v1/wallet/${alice?.address ?? ''}?pretty=1'`,
    `  curl -s -X POST ${input.api}/v1/tx/buy -H 'content-type: application/json' -d '{"ticker":"MAG7","amountUsdg":100,"address":"${alice?.address ?? ''}"}'`,
    rule,
  ].join('\n');
}
