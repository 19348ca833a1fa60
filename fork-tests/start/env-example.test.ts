import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { envExample } from './env-example.ts';

it('.env.example lists every option of every process as the parser knows it', () => {
  const file = readFileSync(join(import.meta.dirname, '..', '..', '.env.example'), 'utf8');
  expect(file).toBe(envExample());
  expect(file.match(/^#[A-Z_]+=/gm)?.length).toBeGreaterThan(50);
});
