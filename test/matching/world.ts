/**
 * Matching hosts, a history and workers, without time of their own: every message, commit and crash happens when a test says so.
 *
 *     history ──add──▶ host 0 (root) ◀─forward─ host 1, host 2
 *        ▲ ◀─start─ ─outcome─▶
 *
 * Messages of one pair of actors keep their order; effects of a record wait until it is committed, and a crash loses what is not. The
 * model of history is the gate: it starts a task once, for one poll request, and offers it again after a withdrawal or a lost add.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { PriorityFields } from '../../src/kernel/priority.ts';
import type { ForwardedPollOutcome, ForwardedTaskOutcome, MatchingCommand } from '../../src/matching/matching-commands.ts';
import type { MatchingTask } from '../../src/matching/matching-tasks.ts';
import type { MatchingEffect } from '../../src/matching/matching-effects.ts';
import type { MatchingLimits } from '../../src/matching/matching-limits.ts';
import { MatchingCore } from '../../src/matching/matching-core.ts';
import type { MatchingRecord } from '../../src/matching/matching-records.ts';
import type { MatchingReply } from '../../src/matching/matching-replies.ts';
import type { TaskQueuePartition } from '../../src/kernel/task-queue.ts';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';
import { CheckpointedBacklog, Table, type WriteFault } from './checkpointed-backlog.ts';
import { activities, add, poll, task, type Started } from './fixtures.ts';

type Reply = MatchingReply<Started> | { readonly kind: 'unavailable' };
type Effect = MatchingEffect<Started>;

type HistoryTask = {
  readonly name: string;
  readonly priority: PriorityFields | undefined;
  stamp: number;
  startedBy: string;
  /** Nobody has taken it over from history yet. */
  offering: boolean;
  deliveredTo: string[];
};

type WorkerPoll = { readonly requestId: string; readonly host: number; askId: number; state: 'open' | 'canceled' | 'empty' | 'task' };

type Held = { readonly record: MatchingRecord | undefined; readonly effects: readonly Effect[] };

type SimulatedHost = {
  core: MatchingCore<Started>;
  journal: MatchingRecord[];
  /** Of its database. */
  table: Table;
  checkpoints: CheckpointedBacklog;
  held: Held[];
  asks: Map<number, (reply: Reply) => void>;
  /** Of the shell: forwarded polls by correlation. */
  forwarded: Map<number, { readonly host: number; readonly askId: number }>;
  generation: number;
};

/** No answer, before or after history recorded the start; or a shard that is not served. */
export type { WriteFault };

export type StartFault = 'unavailable before' | 'unavailable after' | 'refused';

export class World {
  now = 1_000;
  readonly tasks = new Map<string, HistoryTask>();
  readonly polls: WorkerPoll[] = [];
  readonly hosts: SimulatedHost[] = [];
  readonly #channels = new Map<string, (() => void)[]>();
  /** Of all restarts. */
  restoredRows = 0;
  /** As many as were rows alone at once. */
  coldTasks = 0;
  /** Reads of rows that fail from now on. */
  readFaults = 0;
  #asks = 0;
  #requests = 0;

  readonly #forwardedPollsMax: number;

  readonly #windows: Partial<MatchingLimits>;
  readonly #partitions: number;

  /** `windows`: how much of a backlog is in memory. */
  constructor(partitions: number, forwardedPollsMax: number, windows: Partial<MatchingLimits> = {}) {
    this.#forwardedPollsMax = forwardedPollsMax;
    this.#windows = windows;
    this.#partitions = partitions;
    for (let i = 0; i < partitions; i++) this.hosts.push(this.#newHost([], new Table()));
  }

  get undelivered(): readonly HistoryTask[] {
    return [...this.tasks.values()].filter((each) => each.deliveredTo.length === 0);
  }

  addTask(partition: number, priority: PriorityFields | undefined): void {
    const name = `t${this.tasks.size}`;
    this.tasks.set(name, { name, priority, stamp: 1, startedBy: '', offering: true, deliveredTo: [] });
    this.#offer(name, partition);
  }

  /** History offers again what no host has taken over. */
  offerAgain(partition: number): void {
    for (const each of this.tasks.values()) if (each.offering) this.#offer(each.name, partition);
  }

  poll(partition: number, waitMs: number, maxTasksPerSecond: number | undefined): void {
    const requestId = `p${++this.#requests}`;
    const worker: WorkerPoll = { requestId, host: partition, askId: 0, state: 'open' };
    this.polls.push(worker);
    const command = poll(requestId, { queue: queueAt(partition), deadlineMs: this.now + waitMs, maxTasksPerSecond });
    worker.askId = this.#ask(partition, command, (reply) => this.#polled(worker, reply));
  }

  /** An operator, at the root. */
  configure(perSecond: number | undefined, keyPerSecond: number | undefined, weight: number): void {
    const weights = { setWeights: [{ key: 'a', weight }], unsetWeights: ['b'] };
    const rates = { queueRate: { perSecond, reason: '' }, keyRate: { perSecond: keyPerSecond, reason: '' } };
    const change = { identity: 'ops', ...rates, ...weights };
    this.#ask(0, { kind: 'updateTaskQueueConfig', queue: queueAt(0), ...change }, () => undefined);
  }

  /** Each partition knows the rates that the root has, whatever was lost on the way. */
  checkConfigs(): void {
    this.#drainMessages();
    const rates = this.hosts.map((_, partition) => {
      let known: readonly (number | undefined)[] = [];
      this.#ask(partition, { kind: 'describeTaskQueue', queue: queueAt(partition) }, (reply) => {
        if (reply.kind === 'taskQueueDescription') known = [reply.config?.queueRate?.perSecond, reply.config?.keyRate?.perSecond];
      });
      this.commit(partition, Infinity);
      return known;
    });
    deepEqual(
      rates,
      Array.from(rates, () => rates[0]),
    );
  }

  cancelPoll(index: number): void {
    const open = this.polls.filter((each) => each.state === 'open');
    const worker = open[index % Math.max(1, open.length)];
    if (worker === undefined) return;
    worker.state = 'canceled';
    this.#cancel(worker.host, worker.askId);
  }

  /** One message, from the channel with that number. */
  deliver(index: number): boolean {
    const names = [...this.#channels.keys()].toSorted();
    const name = names[index % Math.max(1, names.length)];
    if (name === undefined) return false;
    const queue = this.#channels.get(name) ?? [];
    const message = queue.shift();
    if (queue.length === 0) this.#channels.delete(name);
    message?.();
    return true;
  }

  /** As many records as `count`, oldest first. */
  commit(partition: number, count: number): void {
    const host = this.#host(partition);
    for (let i = 0; i < count;) {
      const next = host.held.shift();
      if (next === undefined) return;
      if (next.record !== undefined) {
        host.journal.push(next.record);
        i++;
      }
      for (const effect of next.effects) this.#act(partition, effect);
    }
  }

  advance(ms: number): void {
    this.now += ms;
    for (const [partition, host] of this.hosts.entries()) {
      const due = host.core.nextDeadline();
      if (due !== undefined && due <= this.now) this.#handle(partition, { kind: 'tick' }, 0);
    }
  }

  cut(partition: number): void {
    const { checkpoints, journal, held } = this.#host(partition);
    checkpoints.cut(journal.length + held.filter(({ record }) => record !== undefined).length);
  }

  capture(partition: number, tasksMax: number): void {
    this.#host(partition).checkpoints.capture(tasksMax);
  }

  write(partition: number, fault: WriteFault | undefined): void {
    const { checkpoints, journal } = this.#host(partition);
    checkpoints.write(journal, fault);
  }

  /**
   * A crash and a new owner, who begins at the last checkpoint: what was not committed is gone, everyone who asked learns that he will get no
   * answer.
   */
  restart(partition: number): void {
    const old = this.#host(partition);
    for (const { host, askId } of old.forwarded.values()) this.#cancel(host, askId);
    const fresh = this.#newHost(old.journal, old.table);
    fresh.table.installInto(fresh.core);
    this.restoredRows += fresh.table.rows.size;
    for (const record of old.journal.slice(fresh.table.records)) fresh.core.evolve(record);
    fresh.generation = old.generation + 1;
    this.hosts[partition] = fresh;
    for (const onReply of old.asks.values()) onReply({ kind: 'unavailable' });
    this.#handle(partition, { kind: 'activate' }, 0);
  }

  /** Replaying each journal, with what is not committed yet, gives the live state. */
  checkReplay(): void {
    for (const host of this.hosts) {
      const replayed = new MatchingCore<Started>({ firstCorrelation: 0 });
      for (const record of host.journal) replayed.evolve(record);
      for (const { record } of host.held) if (record !== undefined) replayed.evolve(record);
      const { storedTasks, tasksInMemory } = host.core.counts();
      this.coldTasks = Math.max(this.coldTasks, storedTasks - tasksInMemory);
      equal(host.core.canonicalState(host.table.sorted), replayed.canonicalState());
    }
  }

  get storedTasks(): number {
    return this.hosts.reduce((sum, host) => sum + host.core.counts().storedTasks, 0);
  }

  /** Nothing fails any more: delivers everything, with polls here and there, until each task has reached a worker and no copy is left. */
  settle(): void {
    for (let round = 0; round < 200; round++) {
      this.#drainMessages();
      if (this.undelivered.length === 0 && this.storedTasks === 0) return;
      // What was started for a poll that died with its host comes back with its timeout, as in the real history.
      if (round > 100) this.#timeOutStarted();
      this.offerAgain(round % this.hosts.length);
      // One partition at a time, so that the others' tasks must find the way there.
      if (this.polls.filter((each) => each.state === 'open').length < 4) this.poll((round >> 3) % this.hosts.length, 30_000, undefined);
      this.#drainMessages();
      this.advance(400);
    }
  }

  #timeOutStarted(): void {
    for (const each of this.undelivered) {
      if (each.startedBy === '') continue;
      const crashed = this.hosts.some((host) => host.generation > 0);
      ok(crashed, `${each.name} was started for nobody although no host crashed`);
      each.startedBy = '';
      each.stamp++;
      each.offering = true;
    }
  }

  #drainMessages(): void {
    for (;;) {
      for (const partition of this.hosts.keys()) this.commit(partition, Infinity);
      if (!this.deliver(0)) return;
    }
  }

  #newHost(journal: MatchingRecord[], table: Table): SimulatedHost {
    // The real shell gives each memory correlations of its own as well.
    const core = new MatchingCore<Started>({
      firstCorrelation: ++this.#asks * 1_000_000,
      taskQueuePartitions: this.#partitions,
      // A new owner's backlog comes into memory one task at a time, with everything else in between.
      limits: { forwardedPollsMax: this.#forwardedPollsMax, storedTasksPerTurnMax: 1, ...this.#windows },
      backlogWire: matchingStateCodec,
    });
    return {
      core,
      journal,
      table,
      checkpoints: new CheckpointedBacklog(core, table),
      held: [],
      asks: new Map(),
      forwarded: new Map(),
      generation: 0,
    };
  }

  #host(partition: number): SimulatedHost {
    const host = this.hosts[partition];
    if (host === undefined) throw new Error(`no host ${partition}`);
    return host;
  }

  #offer(name: string, partition: number): void {
    const offered = this.#task(name);
    const { stamp, priority } = offered;
    this.#ask(partition, add(matchingTask(name, stamp, priority), { queue: queueAt(partition) }), (reply) => {
      if ((reply.kind === 'done' || reply.kind === 'stored') && offered.stamp === stamp) offered.offering = false;
    });
  }

  #task(name: string): HistoryTask {
    const found = this.tasks.get(name);
    if (found === undefined) throw new Error(`no task ${name}`);
    return found;
  }

  #ask(partition: number, command: MatchingCommand<Started>, onReply: (reply: Reply) => void): number {
    const askId = ++this.#asks;
    this.#host(partition).asks.set(askId, onReply);
    this.#handle(partition, command, askId);
    return askId;
  }

  #cancel(partition: number, askId: number): void {
    const host = this.#host(partition);
    if (host.asks.delete(askId)) this.#apply(partition, host.core.cancel(askId, this.now));
  }

  #handle(partition: number, command: MatchingCommand<Started>, askId: number): void {
    this.#apply(partition, this.#host(partition).core.handle(command, this.now, askId));
  }

  #apply(partition: number, handled: ReturnType<MatchingCore<Started>['handle']>): void {
    const host = this.#host(partition);
    if (handled.kind === 'commit') {
      host.core.evolve(handled.record);
      host.held.push({ record: handled.record, effects: handled.effects });
    } else if (handled.kind === 'wait' && handled.barrier) {
      host.held.push({ record: undefined, effects: handled.effects });
    } else {
      for (const effect of handled.effects) this.#act(partition, effect);
    }
  }

  #send(channel: string, message: () => void): void {
    const queue = this.#channels.get(channel);
    if (queue === undefined) this.#channels.set(channel, [message]);
    else queue.push(message);
  }

  #act(partition: number, effect: Effect): void {
    const host = this.#host(partition);
    const tell = (command: MatchingCommand<Started>): void => {
      // Answers to a memory that is gone reach nobody.
      if (this.#host(partition) === host) this.#handle(partition, command, 0);
    };
    switch (effect.kind) {
      case 'reply': {
        const onReply = host.asks.get(effect.askId);
        host.asks.delete(effect.askId);
        onReply?.(effect.reply);
        if (onReply === undefined && effect.reply.kind === 'task') {
          const { origin, pollRequestId } = effect.reply;
          this.#send(`${partition}>history`, () => this.#withdraw(origin.key.workflowId, pollRequestId, partition));
        }
        return;
      }
      case 'startTask':
        this.#send(`${partition}>history`, () => {
          const outcome = this.#startOutcome(effect.task, effect.pollRequestId);
          this.#send(`history>${partition}`, () => tell({ kind: 'taskStartAnswered', correlation: effect.correlation, outcome }));
        });
        return;
      case 'withdrawActivityStart':
        this.#send(`${partition}>history`, () => this.#withdraw(effect.key.workflowId, effect.pollRequestId, partition));
        return;
      case 'forwardPoll':
        this.#send(`${partition}>${effect.command.queue.partition}`, () => {
          if (this.#host(partition) !== host) return;
          const parent = effect.command.queue.partition;
          const askId = this.#ask(parent, effect.command, (reply) => {
            host.forwarded.delete(effect.correlation);
            this.#send(`${parent}>${partition}`, () => {
              if (this.#host(partition) === host)
                return tell({ kind: 'forwardedPollAnswered', correlation: effect.correlation, outcome: pollOutcome(reply) });
              // As the real shell does for a memory that is gone.
              if (reply.kind === 'task') this.#withdraw(reply.origin.key.workflowId, reply.pollRequestId, partition);
            });
          });
          if (this.#host(parent).asks.has(askId)) host.forwarded.set(effect.correlation, { host: parent, askId });
        });
        return;
      case 'cancelForwardedPoll': {
        this.#send(`${partition}>${effect.correlation}`, () => {
          const forwarded = host.forwarded.get(effect.correlation);
          if (forwarded === undefined) return;
          host.forwarded.delete(effect.correlation);
          this.#cancel(forwarded.host, forwarded.askId);
          tell({ kind: 'forwardedPollAnswered', correlation: effect.correlation, outcome: { kind: 'emptyPoll' } });
        });
        return;
      }
      case 'forwardTask':
        this.#send(`${partition}>${effect.command.queue.partition}`, () => {
          const parent = effect.command.queue.partition;
          this.#ask(parent, effect.command, (reply) => {
            const outcome = taskOutcome(reply);
            this.#send(`${parent}>${partition}`, () => tell({ kind: 'forwardedTaskAnswered', correlation: effect.correlation, outcome }));
          });
        });
        return;
      case 'tellPartition':
        this.#send(`${partition}>${effect.command.queue.partition}`, () => {
          const other = effect.command.queue.partition;
          this.#ask(other, effect.command, (reply) => {
            // Until it is confirmed, as the real shell does.
            if (reply.kind !== 'done' && this.#host(partition) === host) this.#act(partition, effect);
          });
        });
        return;
      case 'loadStoredTasks':
        this.#send(`${partition}>table`, () => {
          const { queue, key, afterTaskId, untilTaskId, max, rowsMin } = effect;
          const rows = host.table.sorted.filter((row) => row.queue === key && row.taskId > afterTaskId).slice(0, max);
          if (this.readFaults > 0) return this.#send(`table>${partition}`, () => tell(this.#readFails(queue, key)));
          const isLastPage = rows.length < max || rows.at(-1)!.taskId >= untilTaskId;
          if (this.#host(partition) === host && isLastPage)
            ok(rows.length >= rowsMin, `${rows.length} rows, at least ${rowsMin} are there`);
          this.#send(`table>${partition}`, () => tell({ kind: 'storedTasksLoaded', queue, key, rows }));
        });
        return;
      case 'countStoredTasks':
        this.#send(`${partition}>table`, () => {
          const { queue, key, afterTaskId, untilTaskId, max } = effect;
          const within = host.table.sorted.filter((row) => row.queue === key && row.taskId > afterTaskId && row.taskId <= untilTaskId);
          const rows = within.slice(0, max);
          const upToTaskId = rows.length < max ? untilTaskId : rows.at(-1)!.taskId;
          this.#send(`table>${partition}`, () => tell({ kind: 'storedTasksCounted', queue, afterTaskId, upToTaskId, count: rows.length }));
        });
        return;
      default:
        throw new Error('unknown effect');
    }
  }

  #readFails(queue: TaskQueuePartition, key: string): MatchingCommand<Started> {
    this.readFaults -= 1;
    return { kind: 'storedTasksLoaded', queue, key, rows: undefined };
  }

  /** How the next starts end. */
  startFaults: StartFault[] = [];

  #startOutcome(
    started: MatchingTask,
    requestId: string,
  ): { kind: 'started'; task: Started } | { kind: 'obsolete' | 'refused' | 'unavailable' } {
    const fault = this.startFaults.shift();
    if (fault === 'refused') return { kind: 'refused' };
    if (fault === 'unavailable before') return { kind: 'unavailable' };
    const known = this.#task(started.key.workflowId);
    const free = known.stamp === started.stamp && (known.startedBy === '' || known.startedBy === requestId);
    if (free) known.startedBy = requestId;
    if (fault === 'unavailable after') return { kind: 'unavailable' };
    return free ? { kind: 'started', task: { started: known.name } } : { kind: 'obsolete' };
  }

  #withdraw(name: string, requestId: string, partition: number): void {
    const known = this.#task(name);
    if (known.startedBy !== requestId) return;
    deepEqual(known.deliveredTo, [], `${name} is withdrawn though a worker has it`);
    known.startedBy = '';
    known.stamp++;
    known.offering = true;
    this.#send(`history>${partition}`, () => this.#offer(name, partition));
  }

  #polled(worker: WorkerPoll, reply: Reply): void {
    equal(worker.state, 'open', `${worker.requestId} is answered once, and not after it was canceled`);
    if (reply.kind === 'task') {
      worker.state = 'task';
      const delivered = this.#task(reply.task.started);
      equal(delivered.startedBy, worker.requestId, 'a worker gets what history recorded for its poll');
      delivered.deliveredTo.push(worker.requestId);
      equal(delivered.deliveredTo.length, 1, `${delivered.name} is handed out once`);
    } else {
      ok(reply.kind === 'emptyPoll' || reply.kind === 'unavailable', `a poll is not answered with ${reply.kind}`);
      worker.state = 'empty';
    }
  }
}

function matchingTask(name: string, stamp: number, priority: PriorityFields | undefined): MatchingTask {
  return task(name, { stamp, priority });
}

function queueAt(partition: number): TaskQueuePartition {
  return { ...activities, partition };
}

function taskOutcome(reply: Reply): ForwardedTaskOutcome {
  if (reply.kind === 'noMatch') return reply.isRefused ? 'refused' : 'noMatch';
  return reply.kind === 'done' ? 'taken' : 'unavailable';
}

function pollOutcome(reply: Reply): ForwardedPollOutcome<Started> {
  switch (reply.kind) {
    case 'task':
    case 'queryTask':
    case 'emptyPoll':
      return reply;
    default:
      return { kind: 'unavailable' };
  }
}
