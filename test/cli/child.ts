import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export type Exit = { readonly code: number | null; readonly signal: string | null };

/** A child process with its output; `seen` waits for a text instead of for a time. */
export class Child {
  readonly process: ChildProcess;
  readonly exit: Promise<Exit>;
  out = '';
  err = '';
  readonly #waiters = new Set<() => void>();

  constructor(command: string, line: readonly string[], env: Readonly<Record<string, string>> = {}, cwd?: string) {
    this.process = spawn(command, [...line], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => this.#note('out', text));
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => this.#note('err', text));
    this.exit = once(this.process, 'close').then(([code, signal]: unknown[]) => {
      for (const wake of this.#waiters) wake();
      return { code: code as number | null, signal: signal as string | null };
    });
  }

  async stop(): Promise<Exit> {
    this.process.kill('SIGTERM');
    return await this.exit;
  }

  #note(stream: 'out' | 'err', text: string): void {
    this[stream] += text;
    for (const wake of this.#waiters) wake();
  }

  async seen(stream: 'out' | 'err', pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this[stream])?.[0];
      if (found !== undefined) return found;
      if (this.process.exitCode !== null || this.process.signalCode !== null)
        throw new Error(`ended without ${pattern}: ${this.out}${this.err}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiters.delete(wake);
          resolve();
        };
        this.#waiters.add(wake);
      });
    }
  }
}
