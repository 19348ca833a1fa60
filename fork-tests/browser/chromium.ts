/** Debian's Chromium, driven by its own chromedriver over WebDriver: plain HTTP, no library between. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '../e2e/stack.ts';

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

export type ConsoleLine = { level: string; message: string };

export class Chromium {
  readonly #driver: ChildProcess;
  readonly #session: string;
  readonly #profile: string;

  private constructor(driver: ChildProcess, session: string, profile: string) {
    this.#driver = driver;
    this.#session = session;
    this.#profile = profile;
  }

  /** `extension`: a folder to load. */
  static async start(extension?: string): Promise<Chromium> {
    const port = await freePort();
    const driver = spawn('chromedriver', [`--port=${port}`], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
    try {
      await until('chromedriver', async () => {
        try {
          return (await fetch(`${url}/status`)).ok ? true : null;
        } catch {
          // expected while it starts
          return null;
        }
      });
      const args = [
        '--headless=new',
        // Tests run as root in containers, where Chromium has no sandbox.
        '--no-sandbox',
        '--disable-dev-shm-usage',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        `--user-data-dir=${profile}`,
        ...(extension === undefined
          ? []
          : [
              '--disable-features=DisableLoadExtensionCommandLineSwitch',
              `--load-extension=${extension}`,
            ]),
      ];
      const { sessionId } = (await ask('POST', `${url}/session`, {
        capabilities: {
          alwaysMatch: {
            browserName: 'chrome',
            'goog:chromeOptions': { binary: '/usr/bin/chromium', args },
            'goog:loggingPrefs': { browser: 'ALL' },
          },
        },
      })) as { sessionId: string };
      return new Chromium(driver, `${url}/session/${sessionId}`, profile);
    } catch (error) {
      driver.kill('SIGTERM');
      rmSync(profile, { recursive: true, force: true });
      throw error;
    }
  }

  async stop(): Promise<void> {
    const exited = new Promise((resolve) => this.#driver.once('exit', resolve));
    await ask('DELETE', this.#session);
    this.#driver.kill('SIGTERM');
    await exited;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async open(url: string): Promise<void> {
    await ask('POST', `${this.#session}/url`, { url });
  }

  /** Runs a function body in the page; `arguments` are the values. */
  async run(script: string, ...values: unknown[]): Promise<unknown> {
    return await ask('POST', `${this.#session}/execute/sync`, { script, args: values });
  }

  /** The text that a person sees; '' where the element is hidden or missing. */
  async text(css: string): Promise<string> {
    return String(
      await this.run(
        "const at = document.querySelector(arguments[0]); return at?.checkVisibility() ? at.innerText : ''",
        css,
      ),
    ).trim();
  }

  async seen(css: string): Promise<boolean> {
    return Boolean(
      await this.run(
        'return document.querySelector(arguments[0])?.checkVisibility() ?? false',
        css,
      ),
    );
  }

  /** As a person clicks: in the middle of what can be seen, and not through something else. */
  async click(css: string): Promise<void> {
    const id = await this.#find(css);
    await ask('POST', `${this.#session}/element/${id}/click`, {});
  }

  /** Replaces what a field holds, key by key. */
  async type(css: string, text: string): Promise<void> {
    const id = await this.#find(css);
    await ask('POST', `${this.#session}/element/${id}/clear`, {});
    await ask('POST', `${this.#session}/element/${id}/value`, { text });
  }

  /** Presses keys where the focus is. */
  async press(...keys: string[]): Promise<void> {
    const actions = keys.flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ]);
    await ask('POST', `${this.#session}/actions`, {
      actions: [{ type: 'key', id: 'keyboard', actions }],
    });
  }

  /** Role and name as a screen reader is told them. */
  async spoken(css: string): Promise<{ role: unknown; name: unknown }> {
    const id = await this.#find(css);
    const [role, name] = await Promise.all(
      ['computedrole', 'computedlabel'].map((each) =>
        ask('GET', `${this.#session}/element/${id}/${each}`),
      ),
    );
    return { role, name };
  }

  async until(css: string, matches: RegExp): Promise<string> {
    let last = '';
    return await until(`${css} shows ${matches}`, async () => {
      last = await this.text(css);
      return matches.test(last) ? last : null;
    }).catch((error: unknown) => {
      throw new Error(`${css} shows "${last}", not ${matches}`, { cause: error });
    });
  }

  /** The whole page at this width. */
  async screenshot(file: string): Promise<void> {
    const { data } = (await this.devtools('Page.captureScreenshot', {
      captureBeyondViewport: true,
    })) as { data: string };
    writeFileSync(file, Buffer.from(data, 'base64'));
  }

  /** A device of this width, in CSS pixels, and its colour scheme. */
  async device(width: number, scheme: 'light' | 'dark'): Promise<void> {
    await this.devtools('Emulation.setDeviceMetricsOverride', {
      width,
      height: 900,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    await this.devtools('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    });
  }

  async devtools(cmd: string, params: object): Promise<unknown> {
    return await ask('POST', `${this.#session}/goog/cdp/execute`, { cmd, params });
  }

  /** What the page wrote to its console since the last call: faults, and what its policy blocked. */
  async consoleLines(): Promise<ConsoleLine[]> {
    return (await ask('POST', `${this.#session}/se/log`, { type: 'browser' })) as ConsoleLine[];
  }

  async #find(css: string): Promise<string> {
    const found = (await ask('POST', `${this.#session}/element`, {
      using: 'css selector',
      value: css,
    })) as Record<string, string>;
    return String(found[ELEMENT]);
  }
}

async function ask(method: string, url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  });
  const { value } = (await response.json()) as { value: unknown };
  if (response.ok) return value;
  const { error, message } = value as { error?: string; message?: string };
  throw new Error(`chromedriver: ${error}: ${String(message).split('\n')[0]}`);
}
