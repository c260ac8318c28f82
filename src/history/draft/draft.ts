/**
 * What one command would write, while it is being decided (see Records in README.md).
 *
 *     shard ──▶ open(run): a fork ──▶ add(event), addFact(fact), addTask, finishTask ──▶ toRecord()
 *        ▲                                                                                 │
 *        └───────────────────────────── evolve(record) ────────────────────────────────────┘
 */
import { assert } from '../../kernel/assert.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HandedOverTask } from '../run/hand-over-lines.ts';
import type { AcceptedLetters } from '../commands/hand-over-commands.ts';
import type { BegunLetter, EndedLetter } from '../run/letter-marks.ts';
import type { LetterName } from '../commands/redrive-commands.ts';
import type { HistoryEffect } from '../run/effects.ts';
import type { EventKind, EventOf, HistoryEvent, RecordedEvent } from '../run/events.ts';
import type { AttributesOf, WorkflowExecutionStartedAttributes } from '../generated/public-api.ts';
import { runFromStarted } from '../evolve/evolve-run.ts';
import { evolveRecorded, rememberTask } from '../evolve/evolve.ts';
import { evolveFact, type RunFact, type ShardFact } from '../evolve/evolve-fact.ts';
import type { HistoryLimits } from '../run/history-limits.ts';
import { type AboutShard, type HistoryRecord, type PlacedFact, type RunChange, recordType } from '../run/record.ts';
import type { HistoryWire, HistoryReply } from '../run/history-replies.ts';
import { forkRun, isRunning, type Run, type RunView, type ShardView, type WorkflowTask } from '../run/state.ts';
import type { NewTask, Task } from '../run/tasks.ts';
import type { BufferedQuery, VolatileChange, VolatileView } from '../run/volatile.ts';

export type EventMeta = {
  readonly timeMs?: number;
  readonly userMetadata?: Uint8Array | undefined;
  readonly links?: readonly Uint8Array[];
  readonly eventGroupMarkers?: readonly Uint8Array[];
  readonly workerMayIgnore?: boolean;
};
const noMeta: EventMeta = {};
const none: readonly never[] = [];
const nothing: AboutShard = {};
const noTaskIds: ReadonlySet<number> = new Set();

/** What every decision of a shard has at hand. */
export type ShardParts = {
  readonly shard: ShardView;
  readonly volatile: VolatileView;
  readonly wire: HistoryWire;
  readonly limits: HistoryLimits;
  /** Histories of that namespace are archived once they are closed, as far as is known here and now. */
  readonly archives: (namespaceId: string) => boolean;
  /** Writes a speculative workflow task into its run. A decision of its own, so a draft is given it and does not know how. */
  readonly makeSpeculativeReal: (run: RunDraft, speculative: WorkflowTask) => void;
};

/** The lists of `AboutShard` as they grow with the draft. */
type Gathered = { -readonly [Name in keyof AboutShard]: NonNullable<AboutShard[Name]>[number][] };

export class Draft {
  readonly shard: ShardView;
  readonly volatile: VolatileView;
  readonly wire: HistoryWire;
  readonly limits: HistoryLimits;
  readonly archives: ShardParts['archives'];
  readonly makeSpeculativeReal: ShardParts['makeSpeculativeReal'];
  readonly nowMs: number;
  readonly askId: number;
  readonly runs: RunDraft[] = [];
  effects: HistoryEffect[] = [];
  /** False: the effects do not rest on what was read here, so without a record they need not wait for the read barrier. */
  restsOnState = true;
  /** Made with the first change: most commands have none. */
  #changes: VolatileChange[] | undefined;
  /** Tasks in the order of their ids, which follow the shard's last one; undefined: finished by this very draft. */
  #tasks: (Task | undefined)[] = [];
  #tasksDropped = 0;
  #letterKey: RunKey | undefined;
  #finished: Set<number> | undefined;
  /** What the record says of runs and tasks of any workflow ids; made with the first of these. */
  #about: Gathered | undefined;
  #taskIdLast: number;

  constructor(parts: ShardParts, nowMs: number, askId: number) {
    this.shard = parts.shard;
    this.volatile = parts.volatile;
    this.askId = askId;
    this.wire = parts.wire;
    this.limits = parts.limits;
    this.archives = parts.archives;
    this.makeSpeculativeReal = parts.makeSpeculativeReal;
    this.nowMs = nowMs;
    this.#taskIdLast = parts.shard.taskIdLast;
  }

  /** Opens a run for writing. That alone writes nothing. */
  open(run: RunView): RunDraft {
    for (const open of this.runs) if (open.run.key.runId === run.key.runId) return open;
    const opened = new RunDraft(this, forkRun(run));
    this.runs.push(opened);
    return opened;
  }

  begin(key: RunKey, namespace: string, attributes: WorkflowExecutionStartedAttributes, meta: EventMeta): RunDraft {
    const event = makeEvent(1, 'workflowExecutionStarted', attributes, meta, this.nowMs);
    return this.branch(key, namespace, [{ event, bytes: this.wire.encodeEvent(event) }]);
  }

  /** A new run that begins with copies of another's events, whose bytes they keep. */
  branch(key: RunKey, namespace: string, events: readonly RecordedEvent[]): RunDraft {
    // Told here, it fails a command that is delivered once more; told by `evolve`, its partition.
    assert(!this.shard.runs.has(key.runId), `run ${key.runId} has begun before`);
    const started = events[0]?.event;
    assert(started?.type === 'workflowExecutionStarted', 'a history begins with its Started event');
    const opened = new RunDraft(this, runFromStarted(key, namespace, started));
    this.runs.push(opened);
    for (const recorded of events) opened.copy(recorded);
    return opened;
  }

  discard(): void {
    this.runs.length = 0;
    this.effects = [];
    this.#changes = undefined;
    this.#tasks = [];
    this.#tasksDropped = 0;
    this.#finished = undefined;
    this.#letterKey = undefined;
    this.#about = undefined;
    this.#taskIdLast = this.shard.taskIdLast;
  }

  /** What becomes of those who wait, once this decision is accepted. */
  stage(change: VolatileChange): void {
    this.#changes ??= [];
    this.#changes.push(change);
  }

  /** Whoever waits with that ask hears it, once this decision is accepted. */
  answer(askId: number, reply: HistoryReply): void {
    this.stage({ kind: 'waitEnded', askId });
    this.effects.push({ kind: 'reply', askId, reply });
  }

  get changes(): readonly VolatileChange[] {
    return this.#changes ?? none;
  }

  /** The run's buffered queries, less those that this decision has answered or sent on. */
  waitingQueries(runId: string): readonly BufferedQuery[] {
    const buffered = this.volatile.queries.get(runId);
    if (buffered === undefined) return none;
    return [...buffered.values()].filter(
      ({ askId }) => !this.changes.some((change) => change.kind === 'waitEnded' && change.askId === askId),
    );
  }

  nextTaskId(): number {
    return ++this.#taskIdLast;
  }

  /** `key`: of the run that it is of, which may be deleted. */
  addTask(task: NewTask, key: RunKey): Task {
    const taskId = this.nextTaskId();
    const added = numbered(task, taskId, key);
    this.#tasks.push(added);
    assert(taskId === this.shard.taskIdLast + this.#tasks.length, 'tasks are added in the order of their ids');
    return added;
  }

  /** 0 = there is no such task. One that this draft has made is not written at all. */
  finishTask(taskId: number): void {
    if (taskId === 0) return;
    const own = taskId - this.shard.taskIdLast - 1;
    if (own < 0) (this.#finished ??= new Set()).add(taskId);
    else if (this.#tasks[own] !== undefined) {
      this.#tasks[own] = undefined;
      this.#tasksDropped++;
    }
  }

  get #gathered(): Gathered {
    return (this.#about ??= {});
  }

  /** A closed run whose retention is over, in memory or not: it goes with its retention timer. */
  retire(key: RunKey): void {
    (this.#gathered.retiredRuns ??= []).push(key);
  }

  /** True: the row of the run cannot be read, and it goes unread; there is nothing else to decide. */
  retiresUnread(key: RunKey): boolean {
    const unread = this.shard.runToDeleteUnread(key);
    if (unread !== undefined) this.retire(unread);
    return unread !== undefined;
  }

  noteAtMatching(taskId: number): void {
    (this.#gathered.taskIdsAtMatching ??= []).push(taskId);
  }

  handOver(task: HandedOverTask): void {
    (this.#gathered.tasksHandedOver ??= []).push(task);
  }

  noteLetters(accepted: AcceptedLetters): void {
    (this.#gathered.lettersAccepted ??= []).push(accepted);
  }

  beginLetter(begun: BegunLetter): void {
    (this.#gathered.lettersBegun ??= []).push(begun);
  }

  /** `key`: of its task, where that was never begun. */
  endLetter(ended: EndedLetter, key?: RunKey): void {
    this.#letterKey ??= key;
    (this.#gathered.lettersEnded ??= []).push(ended);
  }

  get lettersEnded(): readonly EndedLetter[] {
    return this.#about?.lettersEnded ?? none;
  }

  confirmLetter(letter: LetterName): void {
    (this.#gathered.lettersConfirmed ??= []).push(letter);
  }

  /** Tasks that end, of those that were pending before. */
  get finishedTaskIds(): ReadonlySet<number> {
    return this.#finished ?? noTaskIds;
  }

  get isEmpty(): boolean {
    return this.#about === undefined && this.#finished === undefined && !this.hasEffect;
  }

  /** More than the end of tasks. */
  get hasEffect(): boolean {
    if (this.#about?.retiredRuns !== undefined || this.#tasks.length > this.#tasksDropped) return true;
    for (const run of this.runs) if (run.changed) return true;
    return false;
  }

  get #executesLetters(): boolean {
    const { lettersBegun, lettersEnded, lettersConfirmed } = this.#about ?? nothing;
    return lettersBegun !== undefined || lettersEnded !== undefined || lettersConfirmed !== undefined;
  }

  #typeOf(runs: readonly RunChange[]): string {
    if (this.runs.some(({ changed, run }) => changed && run.preparation !== undefined)) return 'ResetPrepared';
    const { retiredRuns, taskIdsAtMatching, tasksHandedOver, lettersAccepted, lettersBegun, lettersEnded } = this.#about ?? nothing;
    if (retiredRuns !== undefined) return 'RunsRetired';
    if (taskIdsAtMatching !== undefined) return 'TasksAtMatching';
    if (tasksHandedOver !== undefined) return 'TaskHandedOver';
    if (lettersAccepted !== undefined) return 'LettersAccepted';
    if (lettersBegun !== undefined) return 'LetterExecutionBegun';
    if (runs.length > 0 || !this.#executesLetters) return recordType(runs);
    return lettersEnded === undefined ? 'LettersConfirmed' : 'LetterExecuted';
  }

  toRecord(): HistoryRecord {
    const first = this.runs[0];
    const isAbout = first !== undefined || this.#finished !== undefined || this.#about !== undefined;
    assert(isAbout, 'a record is about a run, or about tasks or retired runs');
    const runs: RunChange[] = [];
    for (const run of this.runs) if (run.changed) runs.push(run.toChange());
    const tasks: Task[] = [];
    for (const task of this.#tasks) if (task !== undefined) tasks.push(task);
    // Tasks of a run that is deleted come without it.
    const handedOver = this.#about?.tasksHandedOver?.[0];
    const key = first?.run.key ?? tasks[0]?.key ?? handedOver?.task.key ?? this.#about?.lettersBegun?.[0]?.task.key ?? this.#letterKey;
    const record: HistoryRecord = {
      timeMs: this.nowMs,
      type: this.#typeOf(runs),
      namespaceId: key?.namespaceId ?? '',
      namespace: first?.run.namespace ?? handedOver?.subject.namespace ?? '',
      workflowId: key?.workflowId ?? '',
      runId: key?.runId ?? '',
      runs,
      tasks,
      finishedTaskIds: this.#finished === undefined ? [] : [...this.#finished],
    };
    return this.#about === undefined ? record : { ...record, ...this.#about };
  }
}

export class RunDraft {
  readonly draft: Draft;
  readonly run: Run;
  readonly events: RecordedEvent[] = [];
  readonly facts: PlacedFact[] = [];
  changed = false;
  forgotten = false;
  #writing = false;

  constructor(draft: Draft, run: Run) {
    this.draft = draft;
    this.run = run;
  }

  toChange(): RunChange {
    return { runId: this.run.key.runId, events: this.events, facts: this.facts };
  }

  /** Before a first write, or a look at the pending workflow task in order to write: a speculative one becomes a real one. */
  ensureReal(): void {
    if (this.#writing) return;
    this.#writing = true;
    const { speculative } = this.draft.volatile;
    if (speculative.size === 0) return;
    const workflowTask = speculative.get(this.run.key.runId);
    if (workflowTask !== undefined && isRunning(this.run)) this.draft.makeSpeculativeReal(this, workflowTask);
  }

  /** A speculative workflow task that no worker has begun: of a run that ends now, it leaves no trace. */
  dropOffered(): void {
    const { runId } = this.run.key;
    const offered = this.draft.volatile.speculative.get(runId);
    if (this.#writing || offered === undefined || offered.startedEventId !== 0) return;
    this.#writing = true;
    this.draft.stage({ kind: 'speculativeEnded', runId });
  }

  /** Writes an event; answers its id. */
  add<Kind extends EventKind>(kind: Kind, attributes: AttributesOf[Kind], meta: EventMeta = noMeta): number {
    assert(isRunning(this.run), `${kind} after the close of run ${this.run.key.runId}`);
    this.ensureReal();
    return this.record(asEvent(makeEvent(this.run.nextEventId, kind, attributes, meta, this.draft.nowMs)));
  }

  /** An event from outside: it waits while a workflow task is started, so that the worker's commands come right behind it. Answers 0 then. */
  addOrBuffer<Kind extends EventKind>(kind: Kind, attributes: AttributesOf[Kind], meta: EventMeta = noMeta): number {
    this.ensureReal();
    const { workflowTask } = this.run;
    if (workflowTask === undefined || workflowTask.startedEventId === 0) return this.add(kind, attributes, meta);
    this.buffer(kind, attributes, meta);
    return 0;
  }

  buffer<Kind extends EventKind>(kind: Kind, attributes: AttributesOf[Kind], meta: EventMeta = noMeta): void {
    this.addFact({ kind: 'eventBuffered', event: asEvent(makeEvent(0, kind, attributes, meta, this.draft.nowMs)) });
  }

  addBuffered(event: HistoryEvent): number {
    return this.record({ ...event, eventId: this.run.nextEventId });
  }

  addFact(fact: RunFact): void {
    this.ensureReal();
    this.changed = true;
    this.facts.push({ afterEvents: this.events.length, fact });
    evolveFact(this.run, fact, this.draft.nowMs, this.draft.wire);
  }

  /** Events that this same record buffered before are taken out of it: they stand in it once, as the events that follow. */
  addBufferFlushed(): void {
    const kept = this.facts.filter(({ fact }) => fact.kind !== 'eventBuffered');
    if (kept.length < this.facts.length) this.facts.splice(0, this.facts.length, ...kept);
    this.addFact({ kind: 'bufferFlushed' });
  }

  /** Nothing of the run stays. The last that is decided about it. */
  forget(): void {
    this.forgotten = true;
    this.addShardFact({ kind: 'runForgotten' });
  }

  /** What changes the shard around the run: the fork does not show it. */
  addShardFact(fact: ShardFact): void {
    this.changed = true;
    this.facts.push({ afterEvents: this.events.length, fact });
  }

  addTask(task: NewTask): void {
    rememberTask(this.run, this.draft.addTask(task, this.run.key));
  }

  finishTask(taskId: number): void {
    this.draft.finishTask(taskId);
  }

  record(event: HistoryEvent): number {
    this.copy({ event, bytes: this.draft.wire.encodeEvent(event) });
    return event.eventId;
  }

  copy(recorded: RecordedEvent): void {
    this.changed = true;
    this.events.push(recorded);
    evolveRecorded(this.run, recorded, this.draft.wire);
  }
}

/** The version of events and tasks: no cluster takes over from another yet. */
const failoverVersion = 0;

export function makeEvent<Kind extends EventKind>(
  eventId: number,
  type: Kind,
  attributes: AttributesOf[Kind],
  meta: EventMeta,
  nowMs: number,
): EventOf<Kind> {
  return {
    type,
    eventId,
    eventTimeMs: meta.timeMs ?? nowMs,
    version: failoverVersion,
    taskId: 0,
    workerMayIgnore: meta.workerMayIgnore ?? false,
    userMetadata: meta.userMetadata,
    links: meta.links ?? none,
    eventGroupMarkers: meta.eventGroupMarkers ?? none,
    attributes,
  };
}

/** The compiler cannot see that what is left out of a task makes it whole again. */
function numbered(task: NewTask, taskId: number, key: RunKey): Task {
  const added = 'fireTimeMs' in task ? { ...task, taskId, key } : { ...task, taskId, key, version: failoverVersion };
  return added as Task;
}

/** The compiler cannot see that an `EventOf<Kind>` is one of the events. */
function asEvent<Kind extends EventKind>(event: EventOf<Kind>): HistoryEvent {
  return event as HistoryEvent;
}
