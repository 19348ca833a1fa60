import { PassThrough } from 'node:stream';
import { describe, expect, it, test } from 'vitest';
import { parseKeyArguments } from './arguments.ts';
import { passphraseWarnings } from './passphrase.ts';
import { type Input, terminalOf } from './terminal.ts';

function keyboard() {
  const modes: boolean[] = [];
  const shown: string[] = [];
  const stream = new PassThrough();
  const input: Input = Object.assign(stream, {
    isTTY: true as const,
    setRawMode: (mode: boolean) => {
      modes.push(mode);
      return stream as never;
    },
  });
  return { stream, modes, shown, terminal: terminalOf(input, (text) => shown.push(text)) };
}

describe('a question on the terminal', () => {
  it('shows nothing of what is typed, and leaves the terminal as it was', async () => {
    const { stream, modes, shown, terminal } = keyboard();
    const first = terminal.ask?.('passphrase');
    stream.write('secrex\u007ft');
    stream.write(' words\r');
    expect(await first).toBe('secret words');
    const second = terminal.ask?.('once more');
    stream.write('x\n');
    expect(await second).toBe('x');
    expect(shown.join('')).toBe('passphrase: \nonce more: \n');
    expect(modes).toEqual([true, false, true, false]);
  });

  it.each(['\u0003', '\u0004'])('is given up by Ctrl-C and Ctrl-D (%#)', async (control) => {
    const { stream, modes, terminal } = keyboard();
    const asked = terminal.ask?.('passphrase');
    stream.write(`abc${control}`);
    await expect(asked).rejects.toThrow('cancelled');
    expect(modes).toEqual([true, false]);
  });
});

test('stdin that is longer than any key is not read to its end', async () => {
  const stream = new PassThrough();
  stream.end('a'.repeat(70_000));
  const terminal = terminalOf(stream, () => undefined);
  expect(terminal.ask).toBeNull();
  await expect(terminal.readPiped()).rejects.toThrow(/longer than any key/);
});

test.each<[string, RegExp | null]>([
  ['correct horse battery', null],
  ['Kurz5', /shorter/],
  ['ababababababab', /different characters/],
  ['1234567890123', /short number/],
  ['correct horse battery ', /space/],
  ['correct hörse battery', /encode/],
])('"%s" is judged', (passphrase, warning) => {
  const warnings = passphraseWarnings(passphrase);
  if (warning === null) expect(warnings).toEqual([]);
  else expect(warnings.join()).toMatch(warning);
  expect(warnings.join()).not.toContain(passphrase);
});

test.each([
  ['new', 'new'],
  ['rotate', 'rotate'],
  ['', null],
  ['new now', null],
  ['import 0xab', null],
  ['--help', null],
])('"%s" on the command line', (line, command) => {
  expect(parseKeyArguments(line.split(' ').filter((word) => word !== ''))).toBe(command);
});
