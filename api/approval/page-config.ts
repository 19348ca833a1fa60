/** The fixed facts that the page is served with, at `approve/config.json`. */
import type { Address } from 'viem';
import type { Addresses } from './account.ts';

export type ChainFacts = { id: number; name: string; rpc: string; explorer: string };

export type PageConfig = { chain: ChainFacts; usdg: Address; addresses: Addresses };
