/**
 * Builds the Solidity with forge and writes one TypeScript file per contract into contracts-abi/generated:
 * its ABI `as const` and, for contracts that are deployed, the creation bytecode. `npm run build:abi`.
 */
import { generate } from './generate.ts';

const written = generate();
process.stdout.write(`${written.length} files written\n`);
