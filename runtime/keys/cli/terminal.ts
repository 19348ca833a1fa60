/** How a command asks for what must not be seen, and reads what is piped into it. */
import type { ReadStream } from 'node:tty';
import { KeyCommandError } from './options.ts';

export type Input = NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;

export type Terminal = {
  /** Where a person sits; null: nobody can be asked. */
  ask: ((question: string) => Promise<string>) | null;
  /** All of stdin, where it is piped. */
  readPiped(): Promise<string>;
};

/** No key and no keystore file is longer. */
const MOST_CHARACTERS = 65_536;

/** @param write where questions go: not stdout, which belongs to the answer */
export function terminalOf(input: Input, write: (text: string) => void): Terminal {
  return {
    ask: input.isTTY === true ? (question) => askHidden(input, write, question) : null,
    readPiped: async () => {
      let text = '';
      for await (const chunk of input) {
        text += chunk.toString();
        if (text.length > MOST_CHARACTERS)
          throw new KeyCommandError('stdin is longer than any key');
      }
      return text;
    },
  };
}

/** Reads one line without showing it; the terminal is itself again afterwards, however it ends. */
async function askHidden(
  input: Input,
  write: (text: string) => void,
  question: string,
): Promise<string> {
  write(`${question}: `);
  input.setRawMode?.(true);
  let onData: ((chunk: Buffer | string) => void) | undefined;
  let onEnd: (() => void) | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      let line: string[] = [];
      const cancelled = (): void => reject(new KeyCommandError('cancelled'));
      onEnd = cancelled;
      onData = (chunk) => {
        for (const character of chunk.toString()) {
          if (character === '\r' || character === '\n') return resolve(line.join(''));
          if (character === '\u0003' || character === '\u0004') return cancelled();
          if (character === '\u007f' || character === '\b') line = line.slice(0, -1);
          else if (line.length < MOST_CHARACTERS) line.push(character);
        }
      };
      input.on('data', onData);
      input.once('end', onEnd);
      input.resume();
    });
  } finally {
    if (onData !== undefined) input.off('data', onData);
    if (onEnd !== undefined) input.off('end', onEnd);
    input.pause();
    input.setRawMode?.(false);
    write('\n');
  }
}
