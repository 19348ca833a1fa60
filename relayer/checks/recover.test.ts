import * as fc from 'fast-check';
import { type Hex, recoverAddress, toHex } from 'viem';
import { privateKeyToAccount, sign } from 'viem/accounts';
import { expect, it } from 'vitest';
import { recoverSigner } from './recover.ts';

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((value): Hex => toHex(value));

const byViem = (digest: Hex, signature: Hex) => recoverAddress({ hash: digest, signature });

it('finds who signed', async () => {
  await fc.assert(
    fc.asyncProperty(bytes(31), bytes(32), async (secret, digest) => {
      const privateKey: Hex = `0x01${secret.slice(2)}`;
      const signature = await sign({ hash: digest, privateKey, to: 'hex' });
      expect(await recoverSigner(digest, signature)).toBe(privateKeyToAccount(privateKey).address);
    }),
    { numRuns: 25 },
  );
});

it('says of any bytes what the JavaScript implementation says', async () => {
  await fc.assert(
    fc.asyncProperty(bytes(32), bytes(64), fc.constantFrom('1b', '1c'), async (digest, rs, v) => {
      const signature: Hex = `${rs}${v}`;
      expect(await recoverSigner(digest, signature)).toBe(
        await recoverSigner(digest, signature, byViem),
      );
    }),
    { numRuns: 50 },
  );
});
