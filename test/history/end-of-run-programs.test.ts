/**
 * How long a closed run stays, whatever becomes of its callbacks and its archive: random programs against a shard, with a model of what still
 * needs the run.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { LetterName } from '../../src/history/commands/redrive-commands.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { PendingTask, TransferTask } from '../../src/history/run/tasks.ts';
import { encodeLetterTask } from '../../src/codec/letter-task-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import { taskFailure, unknownSubject } from './hand-over/task-failure.ts';
import { completeWorkflow, deleteWorkflow, key, ShardUnderTest, terminateWorkflow } from './shard-under-test.ts';

const hour = 3_600_000;
const retentionMs = 72 * hour;
const callback = encodeCallback({ nexus: { url: 'http://example.com/', header: new Map() }, links: [] });
const queues = { outbound: 1, archival: 2, timer: 3 } as const;
type Category = keyof typeof queues;
type Ending = 'done' | 'fails' | 'waits';

type Letter = { readonly name: LetterName; readonly category: Category; readonly task: PendingTask };

class EndingRun extends ShardUnderTest {
  readonly #archives: boolean;
  readonly #key: RunKey;
  readonly #letters = new Map<string, Letter>();
  /** Of letters that are being merged: whose answer comes later. */
  readonly #merging = new Map<number, Letter>();
  readonly #sequences = { outbound: 0, archival: 0, timer: 0 };
  #effectsSeen = 0;
  #closedMs = 0;
  /** Nobody wants it archived any more, or it is. */
  #archiveIsOver: boolean;

  /** `onSchedule`: another run goes on in its place, which has none of its callbacks. */
  constructor(callbacks: number, archives: boolean, onSchedule: boolean) {
    super({}, stateCodec);
    this.#archives = archives;
    this.#archiveIsOver = !archives;
    this.core = this.#newCore();
    const runId = this.start({
      callbacks: { callbacks: Array.from({ length: callbacks }, () => callback), callbacksMax: 32 },
      start: { cronSchedule: onSchedule ? '@yearly' : '' },
    });
    this.#key = { ...key, runId };
    if (onSchedule) {
      this.fireNextTimer();
      this.complete(this.pollWorkflowTask(), [completeWorkflow()]);
      expect(this.describe().key.runId, 'the next one').not.toBe(runId);
      this.expectDone(deleteWorkflow(key));
    } else this.ask(terminateWorkflow());
    this.#closedMs = this.nowMs;
  }

  #newCore(): HistoryCore {
    return new HistoryCore({ wire: historyWire, stateWire: stateCodec, archives: () => this.#archives });
  }

  get isKept(): boolean {
    return this.ask({ kind: 'describeWorkflow', key: this.#key })?.kind === 'description';
  }

  /** What a run must not go before. */
  checkIsKept(): void {
    const reasons = [
      ...(this.nowMs < this.#closedMs + retentionMs ? ['its retention'] : []),
      ...(this.#archiveIsOver ? [] : ['its archive']),
      ...this.#attempts().map(({ kind }) => kind),
      ...[...this.#letters.values()].filter((letter) => this.#isNeeded(letter)).map((letter) => `letter ${nameOf(letter)}`),
    ];
    if (reasons.length > 0) expect(this.isKept, `it has to stay: ${reasons.join(', ')}`).toBe(true);
  }

  /** An archive may come about another way: at the end of a callback whose letter was merged. */
  #isNeeded({ category }: Letter): boolean {
    return category !== 'archival' || !this.#archiveIsOver;
  }

  /** Of callbacks: now, or behind a pause. */
  #attempts(): readonly TransferTask[] {
    return this.transfers().filter(({ kind }) => kind === 'invokeCallback');
  }

  attempt(n: number, ending: Ending): void {
    const tasks = this.#attempts();
    const task = tasks[n % Math.max(1, tasks.length)];
    if (task === undefined) return;
    const { taskId } = task;
    if (ending === 'fails') return this.#fails(taskId, 'outbound');
    const outcome = ending === 'done' ? ({ kind: 'delivered' } as const) : ({ kind: 'failed', message: 'down', pauseMs: hour } as const);
    this.expectDone({ kind: 'callbackAnswered', taskId, outcome });
    this.#settled();
  }

  /** The next thing that the run waits for, if that is the pause of a callback. */
  failPause(): void {
    const taskId = this.nextTimer()?.taskId ?? 0;
    if (this.core.shard.timers.get(taskId)?.kind === 'callbackBackoff') this.#fails(taskId, 'timer');
  }

  /** For good: a letter, unless it is one already. */
  #fails(taskId: number, category: Category): void {
    this.expectDone({ kind: 'handOverTask', taskId, category, failure: taskFailure, subject: unknownSubject });
    const task = this.records.at(-1)?.tasksHandedOver?.[0]?.task;
    if (task !== undefined) {
      const sequence = (this.#sequences[category] += 1);
      this.expectDone({ kind: 'noteLetters', category, sequence, messageIds: [sequence] });
      this.#open({ name: { queue: queues[category], messageId: sequence, generation: 0 }, category, task });
    }
    this.#settled();
  }

  #open(letter: Letter): void {
    this.#letters.set(nameOf(letter), letter);
  }

  merge(n: number): void {
    const letter = [...this.#letters.values()][n % Math.max(1, this.#letters.size)];
    if (letter === undefined || [...this.#merging.values()].includes(letter)) return;
    const { name, task } = letter;
    const reply = this.ask({ kind: 'executeLetter', key: task.key, letter: name, resolvedBelow: 0, task: encodeLetterTask(task) });
    if (reply === undefined) this.#merging.set(this.lastAskId, letter);
    else if (reply.kind === 'letterExecuted') this.#merged(letter, reply.outcome.kind);
    else throw new Error(`a merge is answered with ${JSON.stringify(reply)}`);
    this.#settled();
  }

  /** What merges have come to by now. */
  #settled(): void {
    const news = this.effects.slice(this.#effectsSeen);
    this.#effectsSeen = this.effects.length;
    for (const effect of news) {
      if (effect.kind !== 'reply' || effect.reply.kind !== 'letterExecuted') continue;
      const letter = this.#merging.get(effect.askId);
      this.#merging.delete(effect.askId);
      if (letter !== undefined) this.#merged(letter, effect.reply.outcome.kind);
    }
  }

  #merged(letter: Letter, outcome: 'applied' | 'noop' | 'failed'): void {
    const { name } = letter;
    if (outcome === 'failed') this.#open({ ...letter, name: { ...name, generation: name.generation + 1 } });
    else this.#letters.delete(nameOf(letter));
    this.expectDone({ kind: 'confirmLetter', letter: name });
  }

  purge(n: number): void {
    const letter = [...this.#letters.values()][n % Math.max(1, this.#letters.size)];
    if (letter === undefined || [...this.#merging.values()].includes(letter)) return;
    this.#letters.delete(nameOf(letter));
    if (letter.category === 'archival') this.#archiveIsOver = true;
  }

  /** To each time at which something is due; `archiving`: what comes of each attempt at that. */
  wait(ms: number, archiving: Exclude<Ending, 'waits'>): void {
    for (let leftMs = ms; ;) {
      const next = this.nextTimer();
      const inMs = next === undefined ? Infinity : Math.max(0, next.fireTimeMs - this.nowMs);
      if (next === undefined || inMs > leftMs) return this.advance(leftMs);
      this.advance(inMs);
      leftMs -= inMs;
      this.#due(next.taskId, archiving);
      this.#settled();
      this.checkIsKept();
    }
  }

  #due(taskId: number, archiving: Exclude<Ending, 'waits'>): void {
    const task = this.core.shard.timers.get(taskId);
    if (task?.kind === 'letterCheck') return this.expectDone({ kind: 'letterChecked', taskId, isOpen: this.#letters.size > 0 });
    if (task?.kind !== 'archiveExecution') return void this.ask({ kind: 'fireTimer', taskId, jitter: 0.5 });
    if (archiving === 'fails') return this.#fails(taskId, 'archival');
    this.expectDone({ kind: 'archived', taskId });
    this.#archiveIsOver = true;
  }

  takeOver(): void {
    const core = this.#newCore();
    for (const record of this.records) core.evolve(record);
    this.core = core;
    // Whoever waited asks again.
    const asked = [...this.#merging.values()];
    this.#merging.clear();
    for (const letter of asked) if (this.#letters.get(nameOf(letter)) === letter) this.merge([...this.#letters.values()].indexOf(letter));
  }

  /** All that can be done is done; its letters are merged or purged. */
  endAll(how: 'merge' | 'purge'): void {
    for (let round = 0; round < 6; round++) {
      for (let n = this.#attempts().length; n > 0; n--) this.attempt(0, 'done');
      this.wait(2 * hour, 'done');
      for (let n = this.#letters.size; n > 0; n--) this[how](0);
    }
    this.wait(retentionMs + 3 * hour, 'done');
    this.ask({ kind: 'flushFinishedTasks' });
  }
}

function nameOf({ name: { queue, messageId } }: Letter): string {
  return `${queue}/${messageId}`;
}

const ending = fc.constantFrom<Ending>('done', 'fails', 'waits');
const archiving = fc.constantFrom('done' as const, 'fails' as const);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('attempt' as const), n: fc.nat(3), ending }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(60_000, hour, 24 * hour, 80 * hour), archiving }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('merge' as const), n: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), n: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('failPause' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('takeOver' as const) }) },
);
const program = fc.record({
  callbacks: fc.nat(3),
  archives: fc.boolean(),
  onSchedule: fc.boolean(),
  steps: fc.array(step, { maxLength: 40, size: 'max' }),
  end: fc.constantFrom('merge' as const, 'purge' as const),
});

test('a closed run stays as long as anything needs it, and no longer, whatever becomes of its callbacks and its archive', () => {
  fc.assert(
    fc.property(program, ({ callbacks, archives, onSchedule, steps, end }) => {
      const run = new EndingRun(callbacks, archives, onSchedule);
      for (const each of steps) {
        if (each.do === 'attempt') run.attempt(each.n, each.ending);
        else if (each.do === 'wait') run.wait(each.ms, each.archiving);
        else if (each.do === 'takeOver' || each.do === 'failPause') run[each.do]();
        else run[each.do](each.n);
        run.checkIsKept();
      }
      run.endAll(end);
      expect(run.isKept, 'nothing needs it any more').toBe(false);
      expect([...run.transfers().map(({ kind }) => kind), run.nextTimer()]).toEqual([undefined]);
    }),
    { numRuns: 200 },
  );
}, 120_000);
