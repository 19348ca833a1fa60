/**
 * The owner's approval page. It runs in his browser: it reads the session from this service, the account through his
 * wallet, and hands transactions to that wallet. What must hold:
 * - no key and no signature ever passes through here, and nothing is posted to the service;
 * - nothing is sent unless wallet, chain and account were those of the link a moment ago;
 * - "active" is said when the service says so, not when a transaction was sent.
 */
import type { Address } from 'viem';
import { readLink } from '../link.ts';
import type { PageConfig } from '../page-config.ts';
import { approvalSteps, grantTerms, pauseStep, revokeStep, type Step } from '../transactions.ts';
import { moment } from '../words.ts';
import { type Connection, lookAt, Refusal, refusalWords, send } from './connection.ts';
import { button, element, show, write } from './elements.ts';
import { fetchConfig, fetchSession, type Session } from './service.ts';
import { explainTerms, fillForm, submittedTerms } from './terms-form.ts';
import { showLink, showSent, showSession } from './view.ts';
import { askForAccounts, discoverWallets, switchChain, type Wallet } from './wallets.ts';
import { walletWords } from './wallet-words.ts';

type Ready = Extract<Connection, { tag: 'ready' }>;

const SEEN_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;

class Page {
  readonly #owner: Address;
  readonly #key: Address;
  readonly #config: PageConfig;
  #session: Session;
  #connection: Connection = { tag: 'none' };
  #wallets: readonly Wallet[] = [];
  readonly #watched = new Set<Wallet['provider']>();
  #busy = false;

  constructor(owner: Address, key: Address, config: PageConfig, session: Session) {
    this.#owner = owner;
    this.#key = key;
    this.#config = config;
    this.#session = session;
  }

  start(): void {
    showLink(this.#owner, this.#key, this.#config);
    fillForm(this.#session);
    explainTerms();
    const form = element('terms');
    form.addEventListener('input', () => explainTerms());
    form.addEventListener('focusout', ({ target }) => explainTerms((target as HTMLElement).id));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#approve();
    });
    button('switch').addEventListener('click', () => void this.#switch());
    button('revoke').addEventListener('click', () => void this.#revoke());
    button('pause').addEventListener('click', () => void this.#pause());
    button('copy').addEventListener('click', () => void this.#copy());
    discoverWallets((wallets) => {
      this.#wallets = wallets;
      this.#show();
    });
    this.#show();
    show('content', true);
  }

  #show(): void {
    showSession(this.#session, Math.floor(Date.now() / 1_000));
    this.#showWallet();
    const ready = this.#connection.tag === 'ready';
    for (const id of ['revoke', 'pause', 'approve', 'switch']) button(id).disabled = this.#busy;
    button('revoke').disabled ||= !ready;
    button('pause').disabled ||= !ready;
  }

  #showWallet(): void {
    const { tag } = this.#connection;
    const words = this.#words();
    write('wallet-note', words.text);
    element('wallet-note').classList.toggle('problem', words.problem);
    const offered = tag === 'none' || tag === 'wrong account' ? this.#wallets : [];
    element('wallets').replaceChildren(...offered.map((wallet) => this.#walletButton(wallet)));
    show('switch', tag === 'wrong chain');
    write('switch', `Switch to ${this.#config.chain.name}`);
    show('approve', tag === 'ready');
    write('approve', this.#session.active ? 'Approve the new limits' : 'Approve this key');
    write(
      'approve-note',
      tag === 'ready'
        ? 'Your wallet will ask you to confirm. It costs a little gas and moves no money. Approving again replaces the limits; what was traded today still counts.'
        : '',
    );
  }

  #words() {
    const found = this.#wallets.length > 0;
    return walletWords(this.#connection, this.#owner, this.#config.chain, found);
  }

  #walletButton(wallet: Wallet): HTMLButtonElement {
    const made = document.createElement('button');
    made.type = 'button';
    made.className = 'primary';
    if (wallet.icon !== null) {
      const icon = document.createElement('img');
      icon.alt = '';
      icon.src = wallet.icon;
      made.append(icon);
    }
    made.append(`Connect ${wallet.name}`);
    made.disabled = this.#busy;
    made.addEventListener('click', () => void this.#connect(wallet));
    return made;
  }

  /** One thing at a time; what goes wrong is told where it can be seen. */
  async #act(saying: string, work: () => Promise<string>): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    write('refusal', '');
    element('progress').classList.remove('good');
    write('progress', saying);
    this.#show();
    try {
      write('progress', await work());
    } catch (error) {
      write('progress', '');
      write('refusal', error instanceof Refusal ? error.message : refusalWords(error));
      element('refusal').scrollIntoView({ block: 'nearest' });
    } finally {
      this.#busy = false;
      this.#show();
    }
  }

  #connect(wallet: Wallet): Promise<void> {
    return this.#act('Open your wallet and allow this page to see your address …', async () => {
      await askForAccounts(wallet.provider, this.#connection.tag === 'wrong account');
      this.#watch(wallet);
      await this.#look(wallet);
      return '';
    });
  }

  #switch(): Promise<void> {
    return this.#act('Open your wallet and allow the switch …', async () => {
      const connection = this.#connection;
      if (connection.tag === 'none') return '';
      await switchChain(connection.wallet.provider, this.#config.chain);
      await this.#look(connection.wallet);
      return '';
    });
  }

  /** The owner may change account or chain in the wallet at any time. */
  #watch(wallet: Wallet): void {
    const { provider } = wallet;
    if (this.#watched.has(provider)) return;
    this.#watched.add(provider);
    const look = (): void => {
      if (this.#busy || this.#connection.tag === 'none') return;
      void this.#act('', async () => {
        await this.#look(wallet);
        return '';
      });
    };
    provider.on?.('accountsChanged', look);
    provider.on?.('chainChanged', look);
  }

  async #look(wallet: Wallet): Promise<Connection> {
    this.#connection = await lookAt(wallet, this.#config, this.#owner, this.#session.account);
    return this.#connection;
  }

  /** The wallet as it is now, not as it was when the page last looked. */
  async #ready(): Promise<Ready> {
    const connection = this.#connection;
    if (connection.tag === 'none') throw new Refusal('Connect your wallet first.');
    const looked = await this.#look(connection.wallet);
    if (looked.tag !== 'ready') throw new Refusal(`${this.#words().text} Nothing was sent.`);
    if (looked.state.ownerEth === 0n) throw new Refusal(this.#words().text);
    return looked;
  }

  #approve(): Promise<void> {
    const terms = submittedTerms();
    if (terms === null || this.#connection.tag !== 'ready') return Promise.resolve();
    return this.#act('Reading your account …', async () => {
      const ready = await this.#ready();
      const grant = grantTerms(this.#key, terms, ready.state.now);
      await this.#sendAll(ready, approvalSteps(this.#config.addresses, ready.state, grant));
      await this.#seen(
        (session) =>
          session.active &&
          session.validUntil === grant.validUntil &&
          BigInt(session.dailyLimitUsdg) === grant.dailyLimit,
      );
      const end = `Approved. The key is active until ${moment(grant.validUntil)}. You can tell your agent to go on`;
      return BigInt(this.#session.usdgWei) === 0n
        ? `${end} once there is USDG in your account (below).`
        : `${end}.`;
    });
  }

  #revoke(): Promise<void> {
    return this.#act('Reading your account …', async () => {
      const ready = await this.#ready();
      await this.#sendAll(ready, [revokeStep(this.#config.addresses, ready.state, this.#key)]);
      await this.#seen((session) => !session.active);
      return 'Revoked. The key can do nothing any more.';
    });
  }

  #pause(): Promise<void> {
    const paused = !this.#session.accountPaused;
    return this.#act('Reading your account …', async () => {
      const ready = await this.#ready();
      await this.#sendAll(ready, [pauseStep(this.#config.addresses, ready.state, paused)]);
      await this.#seen((session) => session.accountPaused === paused);
      return paused ? 'Paused. No agent key of this account can act.' : 'The agents can go on.';
    });
  }

  async #sendAll(ready: Ready, steps: readonly Step[]): Promise<void> {
    for (const [index, step] of steps.entries()) {
      const which = steps.length === 1 ? '' : ` (${index + 1} of ${steps.length})`;
      write('progress', `Your wallet asks you to ${step.what}${which}. Confirm it there …`);
      await send(ready, step, (hash) => {
        write('progress', `Sent${which}. Waiting until it is mined …`);
        showSent(hash, this.#explorerLink(hash));
      });
    }
    write('progress', 'Mined. Waiting until the service sees it …');
  }

  #explorerLink(hash: string): string | null {
    const { explorer } = this.#config.chain;
    return explorer.startsWith('https://') ? `${explorer}/tx/${hash}` : null;
  }

  /** Until the service shows it: what the agent will be told. */
  async #seen(holds: (session: Session) => boolean): Promise<void> {
    const deadline = Date.now() + SEEN_WITHIN_MS;
    let failure: unknown = null;
    while (Date.now() < deadline) {
      try {
        this.#session = await fetchSession(this.#owner, this.#key);
        if (holds(this.#session)) {
          element('progress').classList.add('good');
          return;
        }
        failure = null;
      } catch (error) {
        failure = error;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    throw new Refusal(
      'The transaction was mined, but the service does not show it yet. Open this page again in a minute; there is no need to send it again.',
      { cause: failure },
    );
  }

  async #copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#session.account);
      write('copy', 'Copied');
    } catch {
      // expected where the browser asks and the owner declines: the address can be marked by hand
      getSelection()?.selectAllChildren(element('fund-address'));
    }
  }
}

async function open(): Promise<void> {
  show('retry', false);
  write('problem', '');
  const link = readLink(location.search);
  if (link.tag === 'bad') {
    show('loading', false);
    write('problem', link.why);
    return;
  }
  show('loading', true);
  try {
    const [config, session] = await Promise.all([
      fetchConfig(),
      fetchSession(link.owner, link.key),
    ]);
    new Page(link.owner, link.key, config, session).start();
  } catch (error) {
    write('problem', error instanceof Error ? error.message : String(error));
    show('retry', true);
  } finally {
    show('loading', false);
  }
}

button('retry').addEventListener('click', () => void open());
void open();
