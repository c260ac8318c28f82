/** What is decided while one command is handled: at which time, what leaves the host, what is stored. Used again for each command. */
import type { Handled } from '../kernel/handled.ts';
import type { MatchingEffect } from './matching-effects.ts';
import type { MatchingRecord, SpilledTask } from './matching-records.ts';
import type { MatchingReply } from './matching-replies.ts';
import type { ConfiguredQueue } from './task-queue-config.ts';
import { taskBytes } from './matching-tasks.ts';

export type MatchingHandled<T> = Handled<MatchingRecord, MatchingReply<T>, MatchingEffect<T>>;

const nothing: MatchingHandled<never> = { kind: 'wait', barrier: false, effects: [] };

export class Decision<T> {
  nowMs = 0;
  spilled: SpilledTask[] = [];
  /** What those take in memory. */
  spilledBytes = 0;
  configured: ConfiguredQueue[] = [];
  forgotten: string[] = [];
  /** An answer rests on what was read here: it waits for the commits before it. */
  barrier = false;
  #effects: MatchingEffect<T>[] = [];

  begin(nowMs: number): void {
    this.nowMs = nowMs;
    this.barrier = false;
    if (this.#effects.length > 0) this.#effects = [];
  }

  spill(task: SpilledTask): void {
    this.spilled.push(task);
    this.spilledBytes += taskBytes(task.task);
  }

  act(effect: MatchingEffect<T>): void {
    this.#effects.push(effect);
  }

  reply(askId: number, reply: MatchingReply<T>): void {
    this.#effects.push({ kind: 'reply', askId, reply });
  }

  /** The effects of a record wait for its commit; otherwise they go at once, for nothing here rests on this journal. */
  end(removed: readonly number[]): MatchingHandled<T> {
    const effects = this.#effects;
    const { nowMs: timeMs, spilled, configured, forgotten } = this;
    if (spilled.length + removed.length + configured.length + forgotten.length > 0) {
      const record: MatchingRecord = { kind: 'backlogChanged', timeMs, spilled, removed, configured, forgotten };
      this.#letGo();
      return { kind: 'commit', record, reply: undefined, effects };
    }
    return effects.length === 0 ? nothing : { kind: 'wait', barrier: this.barrier, effects };
  }

  /** All that is here is the record's now. Hardly any command has one. */
  #letGo(): void {
    this.spilled = [];
    this.spilledBytes = 0;
    this.configured = [];
    this.forgotten = [];
    this.#effects = [];
  }
}
