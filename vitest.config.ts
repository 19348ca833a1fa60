import { defineConfig } from 'vitest/config';

const shared = {
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // Files share one load of the code in each worker: to load it anew for each took a fifth of the whole run.
  isolate: false,
} as const;

export default defineConfig({
  test: {
    // More workers than the two cores of the smallest machine: these tests wait for blocks more than they compute.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['{api,keeper,relayer,runtime,contracts-abi}/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
        },
      },
      {
        test: {
          ...shared,
          name: 'chain',
          include: ['fork-tests/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            'fork-tests/{system,kills}/**',
            'fork-tests/sender/kills.test.ts',
          ],
          globalSetup: ['fork-tests/harness/global-setup.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'sender-kills',
          include: ['fork-tests/sender/kills.test.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'kills',
          include: ['fork-tests/kills/*.test.ts'],
          globalSetup: ['fork-tests/harness/global-setup.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'live-fork',
          include: ['fork-tests/e2e/*.test.ts'],
          globalSetup: ['fork-tests/harness/synthetic-setup.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'system',
          include: ['fork-tests/system/**/*.test.ts'],
          globalSetup: ['fork-tests/system/debian.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
