/**
 * A process: it can be killed (nothing of it runs any more), paused (what would have run waits, in order, and runs at resume with the
 * old beliefs) and it has a clock of its own.
 */
import { AT_ONCE } from './world.ts';
import type { Clock, Random, Timer } from '../../src/ports/machine.ts';
import type { World } from './world.ts';

export class SimNode {
  readonly name: string;
  readonly world: World;
  up = true;
  paused = false;
  /** How far its wall clock is off. */
  wallOffsetMs = 0;
  #incarnation = 0;
  #waiting: { readonly incarnation: number; readonly run: () => void }[] = [];
  readonly clock: Clock;
  readonly random: Random;
  /** Asked at each step of what this process does to a log or a database. True: here it dies. */
  diesAt: (point: string) => boolean = () => false;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.clock = {
      wallMs: () => 1_000_000 + Math.floor(world.nowMs) + this.wallOffsetMs,
      monoMs: () => world.nowMs,
      after: (delayMs, callback) => {
        return this.at(delayMs, () => {
          world.promiseSettled();
          callback();
        });
      },
      soon: (callback) => void this.at(0, callback, AT_ONCE),
      settled: (callback) => void this.at(0, callback, AT_ONCE),
    };
    this.random = {
      nonce: () => `${world.random.u32().toString(16)}${world.random.u32().toString(16)}`,
      fraction: () => world.random.fraction(),
    };
  }

  /** Something that this process does. */
  at(delayMs: number, run: () => void, tie?: number): Timer {
    return this.#at(this.#incarnation, delayMs, run, tie);
  }

  /** Where the answer to a request of this process goes: nowhere, if it died meanwhile. */
  replyTo(): (delayMs: number, run: () => void) => void {
    const incarnation = this.#incarnation;
    return (delayMs, run) => void this.#at(incarnation, delayMs, run);
  }

  #at(incarnation: number, delayMs: number, run: () => void, tie?: number): Timer {
    const work = (): void => {
      if (!this.up || incarnation !== this.#incarnation) return;
      if (this.paused) this.#waiting.push({ incarnation, run: work });
      else run();
    };
    const event = this.world.at(delayMs, work, tie);
    return { cancel: () => void (event.canceled = true) };
  }

  pause(): void {
    if (!this.up || this.paused) return;
    this.paused = true;
    this.world.trace(`${this.name} pauses`);
  }

  resume(): void {
    if (!this.up || !this.paused) return;
    this.paused = false;
    this.world.trace(`${this.name} resumes`);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { run } of waiting) this.world.at(0, run);
  }

  crash(): void {
    if (!this.up) return;
    this.up = false;
    this.paused = false;
    this.#incarnation += 1;
    this.#waiting = [];
    this.world.trace(`${this.name} crashes`);
  }

  restart(): void {
    if (this.up) return;
    this.up = true;
    this.world.trace(`${this.name} restarts`);
  }
}
