/**
 * Headless Chromium over its DevTools protocol, as far as a test needs it that reads pages and clicks on them like a person.
 *
 * What is clicked is found by its role and its accessible name: what a screen reader would say, whatever a page's classes are called today.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const START_TIMEOUT_MS = 60_000;
const COMMAND_TIMEOUT_MS = 30_000;
/** How long a page may take to show what it is waited for. */
const APPEAR_TIMEOUT_MS = 60_000;

export class Browser {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #devTools: DevTools;

  private constructor(child: ChildProcess, profile: string, devTools: DevTools) {
    this.#child = child;
    this.#profile = profile;
    this.#devTools = devTools;
  }

  static async start(program: string): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), 'perdure-chromium-'));
    const child = spawn(
      program,
      [
        '--headless',
        '--remote-debugging-port=0',
        `--user-data-dir=${profile}`,
        // The sandbox of Chromium refuses to run as root, which is who runs the tests in a container.
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--disable-background-networking',
        '--no-first-run',
        '--force-prefers-reduced-motion',
        // Tests talk to the loopback address only.
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
        '--window-size=1440,1000',
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    try {
      return new Browser(child, profile, await DevTools.connect(await addressSaidBy(child)));
    } catch (error) {
      await ended(child, profile);
      throw error;
    }
  }

  async open(url: string): Promise<Page> {
    const { targetId } = await this.#devTools.send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#devTools.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this.#devTools, sessionId);
    await page.prepare();
    await page.goto(url);
    return page;
  }

  async close(): Promise<void> {
    this.#devTools.close();
    await ended(this.#child, this.#profile);
  }
}

/** Chromium says on its standard error where it listens. */
async function addressSaidBy(child: ChildProcess): Promise<string> {
  if (child.stderr === null) throw new Error('Chromium has no standard error');
  const said: string[] = [];
  const lines = createInterface({ input: child.stderr });
  const timer = setTimeout(() => lines.close(), START_TIMEOUT_MS);
  try {
    for await (const line of lines) {
      said.push(line);
      const address = /^DevTools listening on (ws:\S+)$/.exec(line)?.[1];
      if (address !== undefined) return address;
    }
  } finally {
    clearTimeout(timer);
    // Unread, the pipe would fill and Chromium would stand still.
    child.stderr.resume();
  }
  throw new Error(`Chromium does not start (exit code ${child.exitCode}):\n${said.join('\n')}`);
}

async function ended(child: ChildProcess, profile: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  // Its helpers may still be writing for a moment.
  await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** A request of a page that its server refused. */
export type Refusal = { readonly status: number; readonly url: string };

type Waiting = { resolve(result: unknown): void; reject(error: Error): void };
type Message = {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
};

/** One connection for the browser and its pages. */
class DevTools {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Map<string, (method: string, params: Readonly<Record<string, unknown>>) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data)) as Message));
    socket.addEventListener('close', () => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error('the connection to Chromium is closed'));
      this.#waiting.clear();
    });
  }

  static async connect(address: string): Promise<DevTools> {
    const socket = new WebSocket(address);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true });
      socket.addEventListener('error', () => reject(new Error(`no connection to ${address}`)), { once: true });
    });
    return new DevTools(socket);
  }

  listen(sessionId: string, listener: (method: string, params: Readonly<Record<string, unknown>>) => void): void {
    this.#listeners.set(sessionId, listener);
  }

  async send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = ++this.#lastId;
    const timer = setTimeout(() => {
      this.#waiting.get(id)?.reject(new Error(`${method}: no answer from Chromium`));
    }, COMMAND_TIMEOUT_MS);
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#waiting.set(id, { resolve: (result) => resolve(result as T), reject });
        this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #receive({ id, sessionId, method, params, result, error }: Message): void {
    if (id === undefined) {
      if (sessionId !== undefined && method !== undefined) this.#listeners.get(sessionId)?.(method, params ?? {});
      return;
    }
    const waiting = this.#waiting.get(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }

  close(): void {
    this.#socket.close();
  }
}

/** `button`, `link`, `textbox` …, as ARIA names them. */
type Role = string;

export class Page {
  readonly refusals: Refusal[] = [];
  readonly #devTools: DevTools;
  readonly #sessionId: string;

  constructor(devTools: DevTools, sessionId: string) {
    this.#devTools = devTools;
    this.#sessionId = sessionId;
  }

  async prepare(): Promise<void> {
    this.#devTools.listen(this.#sessionId, (method, params) => this.#note(method, params));
    for (const domain of ['Page', 'DOM', 'Network', 'Accessibility']) await this.#send(`${domain}.enable`);
    await this.#send('Emulation.setDeviceMetricsOverride', { width: 1440, height: 1000, deviceScaleFactor: 1, mobile: false });
  }

  async goto(url: string): Promise<void> {
    await this.#send('Page.navigate', { url });
  }

  async url(): Promise<string> {
    return String(await this.#evaluate('location.href'));
  }

  /** What is to be read on the page. */
  async text(): Promise<string> {
    return String(await this.#evaluate('document.body?.innerText ?? ""'));
  }

  /** The text of the page once it has what is looked for. */
  async shows(wanted: string | RegExp): Promise<string> {
    return await this.#textWhere((text) => has(text, wanted), `the page never showed ${String(wanted)}`);
  }

  async #textWhere(holds: (text: string) => boolean, complaint: string): Promise<string> {
    return await this.#until(
      async () => {
        const text = await this.text();
        return holds(text) ? text : undefined;
      },
      async () => `${complaint}; at ${await this.url()} it says:\n${await this.text()}`,
    );
  }

  async click(role: Role, name: string): Promise<void> {
    await this.#callOn(await this.#find(role, name), 'this.click()');
  }

  /** Replaces what stands in a field. */
  async fill(role: Role, name: string, text: string): Promise<void> {
    await this.#callOn(await this.#find(role, name), 'this.focus(); this.select?.()');
    await this.#send('Input.insertText', { text });
  }

  /** Roles and names of everything on the page that has a name. */
  async outline(): Promise<string> {
    const { nodes } = await this.#send<{ nodes: readonly AccessibleNode[] }>('Accessibility.getFullAXTree');
    return nodes
      .filter((node) => node.ignored !== true && (node.name?.value ?? '') !== '' && node.role?.value !== 'InlineTextBox')
      .map((node) => `${node.role?.value ?? ''} ${JSON.stringify(node.name?.value)}`)
      .join('\n');
  }

  async screenshot(): Promise<Buffer> {
    const { data } = await this.#send<{ data: string }>('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(data, 'base64');
  }

  async #find(role: Role, name: string): Promise<number> {
    return await this.#until(
      async () => {
        const { root } = await this.#send<{ root: { nodeId: number } }>('DOM.getDocument', { depth: 0 });
        const { nodes } = await this.#send<{ nodes: readonly AccessibleNode[] }>('Accessibility.queryAXTree', {
          nodeId: root.nodeId,
          accessibleName: name,
          role,
        });
        return nodes.find(canBeUsed)?.backendDOMNodeId;
      },
      async () => `there is no ${role} ${JSON.stringify(name)} on the page at ${await this.url()}; there is:\n${await this.outline()}`,
    );
  }

  /** To the element itself, not to where it stood a moment ago: pages move while they load. */
  async #callOn(backendNodeId: number, statements: string): Promise<void> {
    const { object } = await this.#send<{ object: { objectId: string } }>('DOM.resolveNode', { backendNodeId });
    await this.#send('Runtime.callFunctionOn', { objectId: object.objectId, functionDeclaration: `function () { ${statements}; }` });
  }

  /** Asks again until there is an answer: a page renders when it has what it needs, and says so to nobody. */
  async #until<T>(ask: () => Promise<T | undefined>, complaint: () => Promise<string>): Promise<T> {
    const deadlineMs = Date.now() + APPEAR_TIMEOUT_MS;
    for (;;) {
      // Between two documents a question may find neither.
      const answer = await ask().catch((error: unknown) => {
        if (Date.now() > deadlineMs) throw error;
        return undefined;
      });
      if (answer !== undefined) return answer;
      if (Date.now() > deadlineMs) throw new Error(await complaint());
      await delay(50);
    }
  }

  #note(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method !== 'Network.responseReceived') return;
    const { status, url } = params['response'] as Refusal;
    if (status >= 400) this.refusals.push({ status, url });
  }

  async #evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#send<{ result: { value?: unknown } }>('Runtime.evaluate', { expression, returnByValue: true });
    return result.value;
  }

  async #send<T>(method: string, params: object = {}): Promise<T> {
    return await this.#devTools.send<T>(method, params, this.#sessionId);
  }
}

function has(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text);
}

/** Hidden, behind a dialog or greyed out: a person could not use it either. */
function canBeUsed({ ignored, backendDOMNodeId, properties }: AccessibleNode): boolean {
  const isDisabled = properties?.some(({ name, value }) => name === 'disabled' && value.value === true) ?? false;
  return ignored !== true && backendDOMNodeId !== undefined && !isDisabled;
}

type AccessibleNode = {
  readonly ignored?: boolean;
  readonly properties?: readonly { readonly name: string; readonly value: { readonly value: unknown } }[];
  readonly backendDOMNodeId?: number;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
};
