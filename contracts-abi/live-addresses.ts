/**
 * What stands on the live chain 4663 and is not ours (facts of 2026; see the live addresses in protocol.md). A fork
 * deploys the protocol on top of these. Tokens are known by address alone: impostors with the same symbols exist.
 */
import type { Address } from 'viem';

export const LIVE = {
  /** 6 decimals, proxy, pausable, EIP-2612 and EIP-3009, domain "Global Dollar" version "1". */
  usdg: '0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168',
  weth: '0x0Bd7D308f8E1639FAb988df18A8011f41EAcAD73',
  multicall3: '0xcA11bde05977b3631167028862bE2a173976CA11',
  uniswapV3Factory: '0x1f7d7550B1b028f7571E69A784071F0205FD2EfA',
  quoterV2: '0x33e885eD0Ec9bF04EcfB19341582aADCb4c8A9E7',
  swapRouter02: '0xCaf681a66D020601342297493863E78C959E5cb2',
} as const satisfies Record<string, Address>;

/** Stock tokens: 18 decimals, blocklist, pause, and a display multiplier that does not rebase. */
export const LIVE_STOCKS = {
  NVDA: '0xd0601CE157Db5bdC3162BbaC2a2C8aF5320D9EEC',
  TSLA: '0x322F0929c4625eD5bAd873c95208D54E1c003b2d',
  AAPL: '0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9',
  MSFT: '0xe93237C50D904957Cf27E7B1133b510C669c2e74',
  AMZN: '0x12f190a9F9d7D37a250758b26824B97CE941bF54',
  GOOGL: '0x2e0847E8910a9732eB3fb1bb4b70a580ADAD4FE3',
  META: '0xc0D6457C16Cc70d6790Dd43521C899C87ce02f35',
  COIN: '0x6330D8C3178a418788dF01a47479c0ce7CCF450b',
  SPY: '0x117cc2133c37B721F49dE2A7a74833232B3B4C0C',
  QQQ: '0xD5f3879160bc7c32ebb4dC785F8a4F505888de68',
  AMD: '0x86923f96303D656E4aa86D9d42D1e57ad2023fdC',
  PLTR: '0x894E1EC2D74FFE5AEF8Dc8A9e84686acCB964F2A',
} as const satisfies Record<string, Address>;
