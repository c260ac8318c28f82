/**
 * Random programs over a queue of dead letters whose topic is deleted, whose cluster begins again on what is left, and whose outcomes are not written:
 * each letter that came is in the queue, merged, purged, or lost with its topic; what is merged was executed, once for each generation; what is purged
 * was selected. Plain functions that throw, for the planted bugs as well.
 */
import assert from 'node:assert/strict';
import type { DeadLetterCommand, DeadLetterReply, MergeOutcome } from '../../src/deadletters/letter-commands.ts';
import { JobsCore } from '../../src/deadletters/jobs/jobs-core.ts';
import type { Letter } from '../../src/deadletters/letter.ts';
import { type QueueHandled, QueueCore } from '../../src/deadletters/queue-core.ts';
import { QueueState } from '../../src/deadletters/queue-state.ts';
import type { DeadLetterRecord } from '../../src/deadletters/letter-records.ts';
import { LetterMarks } from '../../src/history/run/letter-marks.ts';
import { incarnatedQueue } from '../../src/kernel/queue-incarnation.ts';
import { queue, selected } from '../deadletters/jobs/plans.ts';
import { letterOf } from '../deadletters/letters.ts';
import { Prng } from './prng.ts';

const PROGRAMS = 40;
const STEPS = 120;
const QUEUE = 1;
const SHARDS = 2;

type Plan = { readonly incarnation: number; readonly topic: number; readonly workflows: ReadonlyMap<number, string> };

/** A workflow id is a task's name: no two have the same. */
class World {
  readonly #random: Prng;
  #clusterId = 'cluster 0';
  #core: QueueCore;
  #journal: DeadLetterRecord[] = [];
  #marks = new LetterMarks();
  #incarnations = 0;
  #clusters = 0;
  /** How often it began anew. */
  #topic = 0;
  #asks = 0;
  #names = 0;
  /** Of each shard of this cluster: what it has handed over, and whether it has heard of it. */
  #handedOver = new Map<number, { readonly letters: Letter[]; heard: number }>();
  #plans: Plan[] = [];
  readonly #repeated = new Set<string>();
  readonly came = new Set<string>();
  readonly executed = new Map<string, number>();
  readonly merged = new Set<string>();
  readonly purged = new Set<string>();
  readonly lost = new Set<string>();

  constructor(random: Prng) {
    this.#random = random;
    this.#core = this.#newCore();
  }

  run(): void {
    for (let step = 0; step < STEPS; step++) {
      const dice = this.#below(100);
      if (dice < 30) this.#handOver();
      else if (dice < 45) this.#plan();
      else if (dice < 75) this.#apply();
      else if (dice < 90) this.#restart();
      else if (dice < 96) this.#beginTopicAnew();
      else this.#beginClusterAnew();
      this.#check();
    }
  }

  #below(end: number): number {
    return this.#random.int(0, end - 1);
  }

  #newCore(): QueueCore {
    return new QueueCore(new QueueState(undefined, 0, this.#clusterId), (this.#incarnations += 1));
  }

  #ask(command: DeadLetterCommand): DeadLetterReply | undefined {
    const handled = this.#core.handle(command, 1, (this.#asks += 1));
    this.#written(handled);
    return handled.kind === 'wait' ? undefined : handled.reply;
  }

  #written(handled: QueueHandled): void {
    this.#core.accept(handled);
    if (handled.kind === 'commit') this.#journal.push(...(handled.before ?? []), handled.record);
  }

  // ── What happens ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** New ones, with those behind the last answer that was heard in front of them. */
  #handOver(): void {
    const shard = 1 + this.#below(SHARDS);
    const line = this.#handedOver.get(shard) ?? { letters: [], heard: 0 };
    this.#handedOver.set(shard, line);
    for (let more = 1 + this.#below(3); more > 0; more--) {
      const letter = letterOf(shard, line.letters.length + 1);
      line.letters.push({ ...letter, task: { ...letter.task, workflowId: `task-${(this.#names += 1)}` } });
    }
    const letters = line.letters.slice(line.heard).slice(0, 100);
    const written = this.#journal.length;
    const reply = this.#ask({ kind: 'acceptLetters', shard, letters });
    if (this.#below(4) === 0) return this.#crashWithin(written);
    assert.equal(reply?.kind, 'accepted', `a shard hands over: ${JSON.stringify(reply)}`);
    const now = this.#letters();
    for (const [index, { task }] of letters.entries()) {
      const id: number = reply?.kind === 'accepted' ? (reply.ids[index] ?? -1) : -1;
      const isOver = this.merged.has(task.workflowId) || this.purged.has(task.workflowId) || this.lost.has(task.workflowId);
      if (!isOver) assert.equal(now.get(id)?.task.workflowId, task.workflowId, `message ${id} is what was handed over`);
      this.came.add(task.workflowId);
      // Its topic was deleted before its shard had heard of it: it is there once more.
      if (now.get(id)?.task.workflowId === task.workflowId) this.lost.delete(task.workflowId);
    }
    if (this.#below(4) > 0) line.heard = line.letters.length;
  }

  /** Some of what was written since is in the log, and nobody has heard of any. */
  #crashWithin(written: number): void {
    this.#journal.length = written + this.#below(this.#journal.length - written + 1);
    this.#restart();
  }

  #plan(): void {
    const workflows = new Map([...this.#letters()].map(([id, { task }]) => [id, task.workflowId]));
    if (workflows.size > 0) this.#plans.push({ incarnation: this.#core.incarnation, topic: this.#topic, workflows });
  }

  #apply(): void {
    const plan = this.#plans[this.#below(Math.max(1, this.#plans.length))];
    if (plan === undefined) return;
    const ids = [...plan.workflows.keys()];
    const ranges = [{ from: Math.min(...ids), to: Math.max(...ids) }];
    const isOfNow = ids.every((id) => (this.#letters().get(id)?.task.workflowId ?? plan.workflows.get(id)) === plan.workflows.get(id));
    const claimed = this.#ask({ kind: 'claimLetters', jobId: 'job', ranges, incarnation: plan.incarnation });
    if (claimed?.kind === 'rejected') {
      assert.notEqual(plan.topic, this.#topic, 'a plan is good as long as its topic is there');
      return;
    }
    assert(isOfNow, 'no plan gets letters that it did not select');
    const some = ids.filter((id) => this.#letters().has(id) && this.#below(2) === 0);
    for (const id of some) {
      if (this.#below(3) === 0) this.#purge(id);
      else this.#merge(id);
    }
    this.#ask({ kind: 'releaseClaim', jobId: 'job' });
  }

  #purge(messageId: number): void {
    const letter = this.#letters().get(messageId);
    // A merge of it that nobody has heard of is another matter.
    if (letter === undefined || (this.executed.get(letter.task.workflowId) ?? 0) > 0) return;
    this.#ask({ kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters: [{ messageId, generation: 0 }] });
    this.purged.add(letter.task.workflowId);
  }

  /** One that is executed, and of which the queue hears or does not. */
  #merge(messageId: number): void {
    const letter = this.#letters().get(messageId);
    const merge = { kind: 'mergeLetter', jobId: 'job', who: 'anna', why: '', messageId, overridesLoopGuard: true } as const;
    if (letter === undefined || this.#core.handle(merge, 1, 0).kind !== 'wait') return;
    this.#ask(merge);
    const { workflowId } = letter.task;
    const name = { queue: incarnatedQueue(QUEUE, this.#core.incarnation), messageId, generation: letter.generation };
    if (this.#marks.get(name) === undefined) {
      this.executed.set(workflowId, (this.executed.get(workflowId) ?? 0) + 1);
      this.#marks.end({ letter: name, outcome: { kind: 'applied' } }, letter.task.namespaceId);
    }
    if (this.#below(3) === 0) return this.#restart();
    const outcome: MergeOutcome = { kind: 'merged', how: 'merged', generation: letter.generation };
    this.#ask({ kind: 'finishMerge', messageId, outcome });
    this.merged.add(workflowId);
    if (this.#below(3) > 0) this.#marks.remove(name);
  }

  /** From its journal, or from rows and what stands behind them. */
  #restart(): void {
    const at = this.#below(2) === 0 ? 0 : this.#below(this.#journal.length + 1);
    const before = this.#newCore();
    for (const record of this.#journal.slice(0, at)) before.evolve(record);
    this.#core = this.#newCore();
    this.#core.install(before.state.snapshot(), 0);
    for (const record of this.#journal.slice(at)) this.#core.evolve(record);
  }

  #beginTopicAnew(): void {
    // Their shards have not heard that they are letters, and nobody knows any more what has come of them: they become letters once more.
    for (const { letters, heard } of this.#handedOver.values()) {
      for (const { task } of letters.slice(heard)) this.#repeated.add(task.workflowId);
    }
    for (const { task } of this.#letters().values()) this.lost.add(task.workflowId);
    this.#journal = [];
    this.#topic += 1;
    this.#core = this.#newCore();
  }

  #beginClusterAnew(): void {
    this.#clusterId = `cluster ${(this.#clusters += 1)}`;
    this.#handedOver = new Map();
    this.#marks = new LetterMarks();
    this.#restart();
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** In the queue, as whoever reads the topic sees it. */
  #letters(): ReadonlyMap<number, Letter> {
    const letters = new Map<number, Letter>();
    for (const record of this.#journal) {
      if (record.kind === 'letter') letters.set(record.messageId, record.letter);
      else if (record.kind === 'resolved') letters.delete(record.messageId);
    }
    return letters;
  }

  #check(): void {
    const open = new Map<string, number>();
    for (const { task } of this.#letters().values()) open.set(task.workflowId, (open.get(task.workflowId) ?? 0) + 1);
    for (const name of this.came) {
      const isOver = this.merged.has(name) || this.purged.has(name) || this.lost.has(name);
      assert((open.get(name) ?? 0) === 1 || isOver, `${name} came, and is nowhere`);
    }
    for (const name of this.merged) assert((this.executed.get(name) ?? 0) > 0, `${name} is merged, and was not executed`);
    for (const [name, times] of this.executed) {
      if (!this.lost.has(name) && !this.#repeated.has(name) && this.#clusters === 0)
        assert.equal(times, 1, `${name} was executed ${times} times`);
    }
  }
}

export function noLetterIsTakenForAnother(): void {
  for (let seed = 1; seed <= PROGRAMS; seed++) new World(new Prng(seed)).run();
}

export function aPlanIsGoodInItsIncarnationAlone(): void {
  const core = new JobsCore({ requiresReason: false });
  const ids = [{ from: 0, to: 9 }];
  core.accept(core.handle(selected(1, 'plan', ids, { operation: 'purge', queue: { ...queue, incarnation: 7 } }), 0, 1));
  const apply = (incarnation: number): string => {
    const applied = core.handle({ kind: 'applyPlan', planId: 'plan', hash: undefined, incarnation }, 0, 2);
    return applied.kind === 'wait' ? applied.kind : (applied.reply?.kind ?? '');
  };
  assert.deepEqual([apply(8), apply(0), apply(7)], ['rejected', 'rejected', 'job']);
}

export function anotherTaskUnderAKnownNumberIsAnotherLetter(): void {
  const core = new QueueCore();
  const asked = (letter: Letter): DeadLetterReply | undefined => {
    const handled = core.handle({ kind: 'acceptLetters', shard: 1, letters: [letter] }, 0, 1);
    core.accept(handled);
    return handled.kind === 'wait' ? undefined : handled.reply;
  };
  const letter = letterOf(1, 1);
  const other = { ...letter, task: { ...letter.task, workflowId: 'another' } };
  assert.deepEqual(
    [letter, other, other].map(asked),
    [0, 1, 1].map((id) => ({ kind: 'accepted', ids: [id] })),
  );
}
