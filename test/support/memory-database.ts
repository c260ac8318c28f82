/**
 * The database in memory: what the adapters are compared with, and what simulations run on. Maps and sorting, nothing clever.
 *
 * `MemoryTables` is what stands on the disk; each `MemoryDatabase` is a connection to it, so that two owners, or an old one that does not
 * know it yet, can each have theirs. Rows are copied on their way in and out, as bytes through a socket would be.
 */
import type { ExecutionId, RunKey } from '../../src/kernel/run-key.ts';
import {
  type Asked,
  type Checkpoint,
  type CheckpointPosition,
  type ChildStartRow,
  type Database,
  DatabaseError,
  type DeadLettersDelta,
  RUNS_PROBED,
  type Fence,
  type Fenced,
  type HeldJournal,
  type HistoryDelta,
  type HistoryRange,
  type HistoryRow,
  type JournalId,
  type LetterGrouped,
  type LetterIdPage,
  type LetterList,
  type LetterPage,
  type LetterWalk,
  type Loaded,
  type LoadKey,
  type ListedId,
  type MatchingDelta,
  type MatchingQueue,
  type MatchingQueuePage,
  type MatchingTaskCount,
  type MatchingTaskRange,
  type MatchingTaskRow,
  type RebuildReason,
  type Restored,
  type RunRow,
  type SlotClearing,
  type SlotsCleared,
  type StrayRows,
  type TransferTaskRow,
  type TimerRow,
  type TimerWindow,
  type WriteOutcome,
} from '../../src/projections/database-port.ts';
import type { LetterGroup } from '../../src/deadletters/letter-commands.ts';
import { unreachable } from '../../src/kernel/assert.ts';
import { isUuid } from '../../src/kernel/uuid.ts';
import type { LetterRow } from '../../src/deadletters/letter-records.ts';
import type { Condition } from '../../src/filter/condition.ts';
import type { VisibilityCount, VisibilityList, VisibilityPage, VisibilityRow } from '../../src/projections/visibility/row.ts';
import { counted, listed, storedRow } from './condition-oracle.ts';
import { letterGroups, letterIdPage, letterPage, lettersThat } from './letter-oracle.ts';

/** What becomes of a write: it fails and nothing is written; its COMMIT is lost on the way there, or its answer on the way back. */
export type WriteFault = 'fails' | 'commit lost' | 'answer lost';

/** What a simulation lets go wrong. Each is asked before the call touches a row, and may take its time. */
export type DatabaseFaults = {
  readonly onWrite?: (journal: JournalId, what: 'write' | 'flush' | 'clearSlots') => Promise<WriteFault | undefined>;
  /** Rejecting with a DatabaseError fails the read. Not asked for list and count. */
  readonly onRead?: (journal: JournalId, what: ReadName) => Promise<void>;
};

export type ReadName =
  | 'restore'
  | 'position'
  | 'load'
  | 'transferTasks'
  | 'timers'
  | 'tasksAside'
  | 'dueRuns'
  | 'runIds'
  | 'runs'
  | 'strayRows'
  | 'rebuildDue'
  | 'matchingTasks'
  | 'matchingQueues'
  | 'countMatchingTasks'
  | 'letters'
  | 'letterIds'
  | 'countLetters'
  | 'letterGroups'
  | 'history';

export class MemoryTables {
  clusterId: string | undefined;
  readonly #journals = new Map<string, JournalTables>();
  /** By namespace and run id. */
  readonly visibility = new Map<string, VisibilityRow>();

  /** As of the clock: none is given out again after a backup was restored. */
  #lastFence = 0;

  nextFence(fence: Fence): Fence {
    this.#lastFence = Math.max(fence, this.#lastFence) + 1;
    return this.#lastFence;
  }

  journal(journal: JournalId): JournalTables {
    const key = `${journal.kind} ${journal.partition}`;
    const known = this.#journals.get(key) ?? new JournalTables(journal);
    this.#journals.set(key, known);
    return known;
  }

  /** Of the journals that have a checkpoint. */
  *positions(): Generator<readonly [JournalId, CheckpointPosition], void> {
    for (const { id, position } of this.#journals.values()) if (position !== undefined) yield [id, position];
  }

  /** As a backup is one. */
  copy(): MemoryTables {
    const copy = new MemoryTables();
    copy.become(this);
    return copy;
  }

  /** A backup takes the place of what stood here; whoever is connected stays connected. */
  become(backup: MemoryTables): void {
    this.clusterId = backup.clusterId;
    this.visibility.clear();
    for (const [key, row] of backup.visibility) this.visibility.set(key, row);
    this.#journals.clear();
    for (const [key, tables] of backup.#journals) this.#journals.set(key, tables.copy());
  }
}

export class JournalTables {
  readonly id: JournalId;
  fence: Fence = 0;
  isRebuildDue = false;
  position: CheckpointPosition | undefined;
  readonly runs = new Map<string, RunRow>();
  /** Run ids by execution. */
  readonly currentRuns = new Map<string, string>();
  readonly childStarts = new Map<string, ChildStartRow>();
  readonly history = new Map<string, HistoryRow>();
  readonly transferTasks = new Map<number, TransferTaskRow>();
  readonly timers = new Map<number, TimerRow>();
  readonly matchingTasks = new Map<number, MatchingTaskRow>();
  readonly letters = new Map<number, LetterRow>();

  constructor(id: JournalId) {
    this.id = id;
  }

  /** Rows are never changed in place. */
  copy(): JournalTables {
    const copy = new JournalTables(this.id);
    copy.fence = this.fence;
    copy.isRebuildDue = this.isRebuildDue;
    copy.position = this.position;
    for (const [key, row] of this.runs) copy.runs.set(key, row);
    for (const [key, row] of this.currentRuns) copy.currentRuns.set(key, row);
    for (const [key, row] of this.childStarts) copy.childStarts.set(key, row);
    for (const [key, row] of this.history) copy.history.set(key, row);
    for (const [key, row] of this.transferTasks) copy.transferTasks.set(key, row);
    for (const [key, row] of this.timers) copy.timers.set(key, row);
    for (const [key, row] of this.matchingTasks) copy.matchingTasks.set(key, row);
    for (const [key, row] of this.letters) copy.letters.set(key, row);
    return copy;
  }
}

export class MemoryDatabase implements Database {
  readonly name = 'memory';
  readonly #tables: MemoryTables;
  readonly #faults: DatabaseFaults;
  /** Reads that may be given up. */
  readonly #revocable = new Map<Asked, () => void>();
  #isClosed = false;

  constructor(tables: MemoryTables = new MemoryTables(), faults: DatabaseFaults = {}) {
    this.#tables = tables;
    this.#faults = faults;
  }

  async cluster(): Promise<string | undefined> {
    this.#checkOpen();
    return this.#tables.clusterId;
  }

  async bind(clusterId: string): Promise<string> {
    this.#checkOpen();
    this.#tables.clusterId ??= clusterId;
    return this.#tables.clusterId;
  }

  async restore(journal: JournalId): Promise<Restored> {
    const tables = await this.#read(journal, 'restore');
    tables.fence = this.#tables.nextFence(tables.fence);
    return { fence: tables.fence, position: copied(tables.position) };
  }

  async position(journal: JournalId): Promise<Restored> {
    const { fence, position } = await this.#read(journal, 'position');
    return { fence, position: copied(position) };
  }

  async write(journal: JournalId, fence: Fence, checkpoint: Checkpoint): Promise<WriteOutcome> {
    const given = copied(checkpoint);
    const fault = await this.#writing(journal, 'write');
    if (fault === 'commit lost') return { kind: 'unknown', reason: 'the connection was lost before the commit' };
    const tables = this.#tables.journal(journal);
    if (tables.fence !== fence || fence === 0 || !goesOn(given, tables.position)) return { kind: 'fenced' };
    checkPosition(given.position);
    if (given.kind === 'history') this.#writeHistory(tables, given.delta);
    else if (given.kind === 'matching') writeMatching(tables, given.delta);
    else writeLetters(tables, given.delta);
    tables.position = given.position;
    return fault === 'answer lost' ? { kind: 'unknown', reason: 'the connection was lost behind the commit' } : { kind: 'written' };
  }

  async flush(
    journal: JournalId,
    fence: Fence,
    rows: readonly VisibilityRow[],
    retired: readonly ListedId[],
  ): Promise<'flushed' | 'fenced'> {
    const given = copied(rows);
    return await this.#flushing(journal, fence, () => {
      this.#show(given);
      for (const run of retired) this.#tables.visibility.delete(visibilityKey(run));
    });
  }

  async rewrite(
    journal: JournalId,
    fence: Fence,
    nextOffset: number,
    rows: readonly VisibilityRow[],
  ): Promise<'flushed' | 'fenced' | 'moved'> {
    const given = copied(rows);
    let isThere = false;
    const outcome = await this.#flushing(journal, fence, () => {
      isThere = (this.#tables.journal(journal).position?.nextOffset ?? 0) === nextOffset;
      if (isThere) this.#show(given, { replacesNewer: true });
    });
    return outcome === 'flushed' && !isThere ? 'moved' : outcome;
  }

  async noteRebuild(journal: JournalId, fence: Fence, isDue: boolean): Promise<'noted' | 'fenced'> {
    const outcome = await this.#flushing(journal, fence, () => {
      this.#tables.journal(journal).isRebuildDue = isDue;
    });
    return outcome === 'flushed' ? 'noted' : outcome;
  }

  async #flushing(journal: JournalId, fence: Fence, change: () => void): Promise<'flushed' | 'fenced'> {
    const fault = await this.#writing(journal, 'flush');
    if (fault === 'commit lost') throw new DatabaseError('unavailable', 'the connection was lost before the commit');
    if (this.#tables.journal(journal).fence !== fence || fence === 0) return 'fenced';
    change();
    // Writing them again changes nothing: so a flush has no third outcome.
    if (fault === 'answer lost') throw new DatabaseError('unavailable', 'the connection was lost behind the commit');
    return 'flushed';
  }

  async clearSlots(held: readonly HeldJournal[], { namespaceId, slots, afterRunId, max }: SlotClearing): Promise<SlotsCleared> {
    const [first] = held;
    const fault = first === undefined ? undefined : await this.#writing(first.journal, 'clearSlots');
    if (fault === 'commit lost') throw new DatabaseError('unavailable', 'the connection was lost before the commit');
    if (held.some(({ journal, fence }) => fence === 0 || this.#tables.journal(journal).fence !== fence)) return { kind: 'fenced' };
    const { visibility } = this.#tables;
    const behind = [...visibility]
      .filter(([, row]) => row.namespaceId === namespaceId && row.runId > afterRunId)
      .sort(([, one], [, other]) => (one.runId < other.runId ? -1 : 1))
      .slice(0, max);
    for (const [key, row] of behind) {
      if (!held.some(({ journal }) => journal.kind === 'history' && journal.partition + 1 === row.shard)) continue;
      visibility.set(key, { ...row, slots: new Map([...row.slots].filter(([slot]) => !slots.includes(slot))) });
    }
    if (fault === 'answer lost') throw new DatabaseError('unavailable', 'the connection was lost behind the commit');
    return { kind: 'cleared', lastRunId: behind.length < max ? undefined : behind.at(-1)?.[1].runId };
  }

  async load(journal: JournalId, keys: readonly LoadKey[]): Promise<Fenced<readonly Loaded[]>> {
    const tables = await this.#read(journal, 'load');
    return fenced(
      tables,
      keys.map((key) => found(tables, key)),
    );
  }

  async transferTasks(journal: JournalId, afterTaskId: number, max: number): Promise<Fenced<readonly TransferTaskRow[]>> {
    const tables = await this.#read(journal, 'transferTasks');
    const behind = byTaskId(tables.transferTasks.values()).filter(
      ({ taskId, aside, atMatching }) => taskId > afterTaskId && !aside && !atMatching,
    );
    return fenced(tables, behind.slice(0, max));
  }

  async timers(journal: JournalId, window: TimerWindow): Promise<Fenced<readonly TimerRow[]>> {
    const tables = await this.#read(journal, 'timers');
    const { afterFireTimeMs, afterTaskId, untilMs, max } = window;
    const within = byTaskId(tables.timers.values())
      .filter(({ aside, fireTimeMs }) => !aside && fireTimeMs <= untilMs)
      .filter(({ fireTimeMs, taskId }) => fireTimeMs > afterFireTimeMs || (fireTimeMs === afterFireTimeMs && taskId > afterTaskId))
      .sort((one, other) => one.fireTimeMs - other.fireTimeMs);
    return fenced(tables, within.slice(0, max));
  }

  async tasksAside(
    journal: JournalId,
  ): Promise<Fenced<{ readonly transferTasks: readonly TransferTaskRow[]; readonly timers: readonly TimerRow[] }>> {
    const tables = await this.#read(journal, 'tasksAside');
    return fenced(tables, {
      transferTasks: byTaskId(tables.transferTasks.values()).filter(({ aside }) => aside),
      timers: byTaskId(tables.timers.values()).filter(({ aside }) => aside),
    });
  }

  async dueRuns(journal: JournalId, untilMs: number, max: number): Promise<Fenced<readonly (RunKey & { readonly forgetMs: number })[]>> {
    const tables = await this.#read(journal, 'dueRuns');
    const due = byRunId(tables.runs.values())
      .flatMap(({ namespaceId, workflowId, runId, forgetMs }) =>
        forgetMs === undefined || forgetMs > untilMs ? [] : [{ namespaceId, workflowId, runId, forgetMs }],
      )
      .sort((one, other) => one.forgetMs - other.forgetMs);
    return fenced(tables, due.slice(0, max));
  }

  async runIds(journal: JournalId, afterRunId: string, max: number): Promise<Fenced<readonly RunKey[]>> {
    const tables = await this.#read(journal, 'runIds');
    const behind = byRunId(tables.runs.values()).filter(({ runId }) => runId > afterRunId);
    return fenced(
      tables,
      behind.slice(0, max).map(({ namespaceId, workflowId, runId }) => ({ namespaceId, workflowId, runId })),
    );
  }

  async runs(journal: JournalId, afterRunId: string, max: number, bytesMax: number): Promise<Fenced<readonly RunRow[]>> {
    const tables = await this.#read(journal, 'runs');
    const behind = byRunId(tables.runs.values()).filter(({ runId }) => runId > afterRunId);
    let bytes = 0;
    const beyond = behind.findIndex(({ state }, index) => (bytes += state.length) > bytesMax && index > 0);
    return fenced(tables, behind.slice(0, Math.min(max, beyond < 0 ? max : beyond)));
  }

  async strayRows(journal: JournalId, after: ListedId | undefined, max: number): Promise<Fenced<StrayRows>> {
    const tables = await this.#read(journal, 'strayRows');
    const behind = [...this.#tables.visibility.values()]
      .filter((row) => after === undefined || visibilityKey(row) > visibilityKey(after))
      .sort((one, other) => (visibilityKey(one) < visibilityKey(other) ? -1 : 1))
      .slice(0, max);
    const idOf = ({ namespaceId, runId }: VisibilityRow): ListedId => ({ namespaceId, runId });
    const strays = behind.filter(({ shard, runId }) => shard === journal.partition + 1 && !tables.runs.has(runId)).map(idOf);
    return fenced(tables, { strays, last: behind.map(idOf).at(-1) });
  }

  async rebuildDue(journal: JournalId): Promise<Fenced<RebuildReason | undefined>> {
    const tables = await this.#read(journal, 'rebuildDue');
    const probed = byRunId(tables.runs.values()).slice(0, RUNS_PROBED);
    const isLost = probed.length > 0 && !probed.some((run) => this.#tables.visibility.has(visibilityKey(run)));
    return fenced(tables, tables.isRebuildDue ? 'asked' : isLost ? 'lost' : undefined);
  }

  async matchingTasks(journal: JournalId, queue: string, afterTaskId: number, max: number): Promise<Fenced<readonly MatchingTaskRow[]>> {
    const tables = await this.#read(journal, 'matchingTasks');
    const behind = byTaskId(tables.matchingTasks.values()).filter((row) => row.queue === queue && row.taskId > afterTaskId);
    return fenced(tables, behind.slice(0, max));
  }

  async matchingQueues(journal: JournalId, page: MatchingQueuePage): Promise<Fenced<readonly MatchingQueue[]>> {
    const tables = await this.#read(journal, 'matchingQueues');
    const queues: MatchingQueue[] = [];
    let taken = 0;
    for (const queue of matchingQueuesOf(tables.matchingTasks.values(), page.tasksMax)) {
      if (taken >= page.tasksOfAllMax) break;
      if (page.afterName !== undefined && Buffer.compare(queue.storedName, page.afterName) <= 0) continue;
      queues.push(queue);
      taken += queue.tasks.length;
    }
    return fenced(tables, queues);
  }

  async countMatchingTasks(journal: JournalId, range: MatchingTaskRange): Promise<Fenced<MatchingTaskCount>> {
    const tables = await this.#read(journal, 'countMatchingTasks');
    const { queue, afterTaskId, untilTaskId, max } = range;
    const within = byTaskId(tables.matchingTasks.values())
      .filter((row) => row.queue === queue && row.taskId > afterTaskId && row.taskId <= untilTaskId)
      .slice(0, max);
    return fenced(tables, { count: within.length, lastTaskId: within.at(-1)?.taskId ?? afterTaskId });
  }

  async letters(journal: JournalId, list: LetterList): Promise<Fenced<LetterPage>> {
    const tables = await this.#unlessGivenUp(list.asked, this.#read(journal, 'letters'));
    return fenced(tables, letterPage(tables.letters.values(), list));
  }

  async letterIds(journal: JournalId, walk: LetterWalk): Promise<Fenced<LetterIdPage>> {
    const tables = await this.#unlessGivenUp(walk.asked, this.#read(journal, 'letterIds'));
    return fenced(tables, letterIdPage(tables.letters.values(), walk));
  }

  async countLetters(journal: JournalId, condition: Condition | undefined, asked?: Asked): Promise<Fenced<number>> {
    const tables = await this.#unlessGivenUp(asked, this.#read(journal, 'countLetters'));
    return fenced(tables, lettersThat(tables.letters.values(), condition).length);
  }

  async letterGroups(journal: JournalId, grouped: LetterGrouped): Promise<Fenced<readonly LetterGroup[]>> {
    const tables = await this.#unlessGivenUp(grouped.asked, this.#read(journal, 'letterGroups'));
    return fenced(tables, letterGroups(tables.letters.values(), grouped));
  }

  async history(journal: JournalId, range: HistoryRange): Promise<readonly HistoryRow[]> {
    const tables = await this.#read(journal, 'history');
    const within = [...tables.history.values()]
      .filter(({ runId, branch }) => runId === range.runId && branch === range.branch)
      .filter(({ firstEventId, lastEventId }) => firstEventId <= range.lastEventId && lastEventId >= range.firstEventId)
      .sort((one, other) => one.firstEventId - other.firstEventId);
    let bytes = 0;
    const beyond = within.findIndex(({ events }, index) => (bytes += events.length) > range.bytesMax && index > 0);
    return copied(beyond < 0 ? within : within.slice(0, beyond));
  }

  async list(query: VisibilityList): Promise<VisibilityPage> {
    this.#checkOpen();
    const rows = listed(this.#tables.visibility.values(), query);
    return { rows: copied(rows.map(({ slots: _slots, version: _version, ...row }) => row)) };
  }

  async count(query: VisibilityCount): Promise<readonly { readonly status: number | undefined; readonly count: number }[]> {
    this.#checkOpen();
    return counted(this.#tables.visibility.values(), query);
  }

  async giveUp(asked: Asked): Promise<void> {
    this.#checkOpen();
    this.#revocable.get(asked)?.();
  }

  async #unlessGivenUp<Read>(asked: Asked | undefined, read: Promise<Read>): Promise<Read> {
    if (asked === undefined) return await read;
    const givenUp = new Promise<never>((_, reject) => {
      this.#revocable.set(asked, () => reject(new DatabaseError('overtime', 'the caller has given up')));
    });
    return await Promise.race([read, givenUp]).finally(() => this.#revocable.delete(asked));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new DatabaseError('closed', 'the database is closed');
  }

  async #read(journal: JournalId, what: ReadName): Promise<JournalTables> {
    this.#checkOpen();
    await this.#faults.onRead?.(journal, what);
    return this.#tables.journal(journal);
  }

  async #writing(journal: JournalId, what: 'write' | 'flush' | 'clearSlots'): Promise<WriteFault | undefined> {
    this.#checkOpen();
    const fault = await this.#faults.onWrite?.(journal, what);
    if (fault === 'fails') throw new DatabaseError('unavailable', 'the database does not answer');
    return fault;
  }

  #writeHistory(tables: JournalTables, delta: HistoryDelta): void {
    checkHistory(delta);
    for (const taskId of delta.goneTransferTasks) tables.transferTasks.delete(taskId);
    for (const taskId of delta.goneTimers) tables.timers.delete(taskId);
    for (const row of delta.runs) tables.runs.set(row.runId, row);
    for (const row of delta.currentRuns) tables.currentRuns.set(executionKey(row), row.runId);
    for (const row of delta.childStarts) tables.childStarts.set(childStartKey(row), row);
    for (const row of delta.history) tables.history.set(`${row.runId} ${row.branch} ${row.firstEventId}`, row);
    for (const row of delta.transferTasks) tables.transferTasks.set(row.taskId, row);
    for (const taskId of delta.tasksAtMatching) {
      const row = tables.transferTasks.get(taskId);
      if (row !== undefined) tables.transferTasks.set(taskId, { ...row, atMatching: true });
    }
    for (const row of delta.timers) tables.timers.set(row.taskId, row);
    this.#show(delta.visibility);
    for (const run of delta.retiredRuns) {
      retire(tables, run);
      this.#tables.visibility.delete(visibilityKey(run));
    }
  }

  #show(rows: readonly VisibilityRow[], { replacesNewer = false } = {}): void {
    for (const given of rows) {
      const row = storedRow(given, isUuid);
      if (row === undefined) continue;
      const known = this.#tables.visibility.get(visibilityKey(row));
      if (replacesNewer || known === undefined || known.version <= row.version) this.#tables.visibility.set(visibilityKey(row), row);
    }
  }
}

function found(tables: JournalTables, key: LoadKey): Loaded {
  switch (key.kind) {
    case 'current': {
      const currentRunId = tables.currentRuns.get(executionKey(key));
      return { currentRunId, run: currentRunId === undefined ? undefined : tables.runs.get(currentRunId) };
    }
    case 'run': {
      const run = tables.runs.get(key.runId);
      const isOfKey = run !== undefined && executionKey(run) === executionKey(key);
      return { currentRunId: tables.currentRuns.get(executionKey(key)), run: isOfKey ? run : undefined };
    }
    case 'childStart':
      return { currentRunId: tables.childStarts.get(childStartKey(key))?.runId, run: undefined };
    default:
      return unreachable(key);
  }
}

function retire(tables: JournalTables, run: RunKey): void {
  tables.runs.delete(run.runId);
  if (tables.currentRuns.get(executionKey(run)) === run.runId) tables.currentRuns.delete(executionKey(run));
  for (const [key, row] of tables.childStarts) if (row.runId === run.runId) tables.childStarts.delete(key);
  for (const [key, row] of tables.history) if (row.runId === run.runId) tables.history.delete(key);
}

function writeMatching(tables: JournalTables, delta: MatchingDelta): void {
  for (const { taskId } of delta.tasks) checkNumbers('a matching task', taskId);
  for (const taskId of delta.goneTasks) tables.matchingTasks.delete(taskId);
  for (const row of delta.tasks) tables.matchingTasks.set(row.taskId, row);
}

function writeLetters(tables: JournalTables, delta: DeadLettersDelta): void {
  for (const row of delta.letters) {
    for (const value of Object.values(row)) if (typeof value === 'number') checkNumbers('a letter', value);
    for (const value of [row.taskId, row.firstEventId, row.nextEventId, row.version]) {
      if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) throw new DatabaseError('data', `a letter holds ${value}`);
    }
  }
  for (const messageId of delta.goneLetters) tables.letters.delete(messageId);
  for (const row of delta.letters) tables.letters.set(row.messageId, row);
}

/** The guard: nobody has written further than this, and what stands there is what this one goes on from, or this very one. */
function goesOn({ position, base }: Checkpoint, known: CheckpointPosition | undefined): boolean {
  if (known === undefined) return (base ?? 0) === 0;
  if (known.epoch > position.epoch || known.nextOffset > position.nextOffset) return false;
  return base === undefined || known.nextOffset === base || known.nextOffset === position.nextOffset;
}

function checkPosition(position: CheckpointPosition): void {
  const { epoch, sequence, nextOffset, lastOffset, timeMs, schema } = position;
  checkNumbers('a position', epoch, sequence, nextOffset, lastOffset, timeMs, schema);
}

/** Before anything is changed: a delta is written whole or not at all. */
function checkHistory(delta: HistoryDelta): void {
  for (const row of delta.runs) {
    checkIds('a run', row.namespaceId, row.runId);
    checkNumbers('a run', row.status, row.forgetMs ?? 0);
  }
  for (const row of delta.currentRuns) checkIds('a current run', row.namespaceId, row.runId);
  for (const row of delta.childStarts) {
    checkIds('a child start', row.parentRunId, row.runId);
    checkNumbers('a child start', row.initiatedEventId);
  }
  for (const row of delta.history) {
    checkIds('a history row', row.runId);
    checkNumbers('a history row', row.branch, row.firstEventId, row.lastEventId);
  }
  for (const row of delta.transferTasks) checkNumbers('a transfer task', row.taskId);
  checkNumbers('a task at matching', ...delta.tasksAtMatching);
  for (const row of delta.timers) checkNumbers('a timer', row.taskId, row.fireTimeMs);
}

function checkIds(what: string, ...ids: readonly string[]): void {
  for (const id of ids) if (!isUuid(id)) throw new DatabaseError('data', `${what} names ${JSON.stringify(id)}, which is no UUID`);
}

function checkNumbers(what: string, ...numbers: readonly number[]): void {
  for (const number of numbers) {
    if (!Number.isSafeInteger(number)) throw new DatabaseError('data', `${what} holds ${number}, which is no whole number up to 2^53`);
  }
}

/** The NUL between both stands in no namespace id. */
function executionKey({ namespaceId, workflowId }: ExecutionId): string {
  return `${namespaceId}\0${workflowId}`;
}

function childStartKey(row: { readonly parentRunId: string; readonly initiatedEventId: number }): string {
  return `${row.parentRunId} ${row.initiatedEventId}`;
}

function visibilityKey(row: { readonly namespaceId: string; readonly runId: string }): string {
  return `${row.namespaceId} ${row.runId}`;
}

/** By the bytes of their names, each with its first tasks. */
export function matchingQueuesOf(rows: Iterable<MatchingTaskRow>, tasksMax = Infinity): readonly MatchingQueue[] {
  const byQueue = Map.groupBy(byTaskId(rows), ({ queue }) => queue);
  const queues = Array.from(byQueue, ([queue, all]) => ({
    queue,
    storedName: Buffer.from(queue),
    lastTaskId: all.at(-1)?.taskId ?? 0,
    tasks: all.slice(0, tasksMax),
  }));
  return queues.sort((one, other) => Buffer.compare(one.storedName, other.storedName));
}

function byTaskId<Row extends { readonly taskId: number }>(rows: Iterable<Row>): Row[] {
  return [...rows].sort((one, other) => one.taskId - other.taskId);
}

function byRunId(rows: Iterable<RunRow>): RunRow[] {
  return [...rows].sort((one, other) => (one.runId < other.runId ? -1 : 1));
}

function fenced<Rows>({ fence, position }: JournalTables, rows: Rows): Fenced<Rows> {
  return { fence, nextOffset: position?.nextOffset ?? 0, rows: copied(rows) };
}

function copied<Value>(value: Value): Value {
  // Of a view, `structuredClone` would copy the whole buffer below it.
  if (value instanceof Uint8Array) return new Uint8Array(value) as Value & Uint8Array<ArrayBuffer>;
  if (Array.isArray(value)) return value.map(copied) as Value & unknown[];
  if (value instanceof Map) return new Map([...value].map(copied)) as Value & Map<unknown, unknown>;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, copied(field)])) as Value & object;
}
