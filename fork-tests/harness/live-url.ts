/** FORK_RPC_URL: the chain that the tests' upstream forks; undefined where it is the seeded local chain. */
export function liveUrl(): string | undefined {
  const url = process.env.FORK_RPC_URL;
  return url === '' ? undefined : url;
}
