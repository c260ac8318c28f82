/** A program of ./programs that floods a server until it is ended, at a lower priority. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

export type FloodPlan = {
  /** Of ./programs; `args` follow the address of the server. */
  readonly program: string;
  readonly args?: readonly string[];
  /** The victim counts its workflows after each of them. */
  readonly victimCounts?: boolean;
};

/** A test that is given up does not end its flood, and a flood that goes on keeps the test run open. */
const endWithParent = `data:text/javascript,process.once('disconnect',()=>process.exit())`;

/** Its first line says that it has begun. */
export class Flood {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #begun: Promise<void>;
  #output = '';

  constructor({ program, args = [] }: FloodPlan, address: string) {
    const file = fileURLToPath(new URL(`programs/${program}.ts`, import.meta.url));
    this.#child = spawn(process.execPath, ['--import', endWithParent, file, address, ...args], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    if (this.#child.pid !== undefined) setPriority(this.#child.pid, Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
    this.#closed = once(this.#child, 'close');
    this.#begun = new Promise((resolve, reject) => {
      this.#child.stdout?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
        resolve();
      });
      this.#child.once('close', () => reject(new Error(`${program} ended before it began`)));
    });
  }

  begun(): Promise<void> {
    return this.#begun;
  }

  /** Its last line. */
  async end(): Promise<string> {
    this.#child.kill('SIGKILL');
    await this.#closed;
    return this.#output.trim().split('\n').at(-1) ?? '';
  }
}
