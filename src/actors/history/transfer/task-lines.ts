/**
 * Many tasks run a few in each turn of the event loop, in lines that take turns: a takeover may find hundreds of thousands, and a worker may
 * schedule thousands of activities at once.
 *
 *     turn of the event loop    │ a×500 │ I/O │ b×500 │ I/O │ a×500 │ I/O │ b×7 │ I/O │ a×500 │ …
 *
 * Within a line in their order. So nobody's many hold up another's, and what one workflow asks for later does not overtake what it asked for first.
 */
import { Fifo } from '../../../kernel/fifo.ts';

/** A few milliseconds, with what follows from them. */
export const TASKS_PER_TURN_MAX = 500;

export class TaskLines<Task> {
  readonly #run: (task: Task) => void;
  readonly #inNextTurn: (go: () => void) => void;
  /** Lines that somebody waits in, in the order of their turns. */
  readonly #lines = new Map<string, Fifo<Task>>();

  constructor(run: (task: Task) => void, inNextTurn: (go: () => void) => void) {
    this.#run = run;
    this.#inNextTurn = inNextTurn;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  has(name: string): boolean {
    return this.#lines.has(name);
  }

  /** Adds tasks behind those of their line. If there is no line, the first ones run at once. */
  add(name: string, tasks: Iterable<Task>): void {
    const isIdle = this.isEmpty;
    const line = this.#lines.get(name) ?? new Fifo<Task>();
    for (const task of tasks) line.push(task);
    this.#lines.set(name, line);
    if (isIdle) this.#turn();
  }

  #turn(): void {
    for (const [name, line] of this.#lines) {
      for (let count = 0; count < TASKS_PER_TURN_MAX && line.length > 0; count++) this.#run(line.shift());
      this.#lines.delete(name);
      if (line.length > 0) this.#lines.set(name, line);
      break;
    }
    if (!this.isEmpty) this.#inNextTurn(() => this.#turn());
  }
}
