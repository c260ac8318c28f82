/**
 * What must be true of a run of history shards, judged from the whole journals, trimmed or not, and from all that anyone was told.
 *
 *     journal, by the rule of effective records ── folded ──▶ what memories and rows must be, at each of its offsets
 *                                               └─ events ──▶ what was acknowledged, and read
 */
import { canonicalText } from '../../../src/history/run/canonical.ts';
import { evolve } from '../../../src/history/evolve/evolve.ts';
import type { HistoryMemory } from '../../../src/actors/history/history-memory.ts';
import { HistoryCore } from '../../../src/history/history-core.ts';
import { status as statuses } from '../../../src/history/generated/enums.ts';
import { Shard } from '../../../src/history/shard/shard.ts';
import { isRunning, type RunView } from '../../../src/history/run/state.ts';
import { isLastMessage } from '../../../src/history/run/tasks.ts';
import { historyCodec } from '../../../src/codec/history-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { stateCodecBesideHistory } from '../../../src/codec/state-codec.ts';
import { loadAll, shardRows, tasksLeave } from '../../support/shard-rows.ts';
import type { MemoryTables } from '../../support/memory-database.ts';
import { difference, FoldedJournal } from '../folded-journal.ts';
import { check } from '../oracle.ts';
import { type RunSummary, summaryOf } from '../../../src/history/run/summary.ts';
import type { SimDisk } from '../sim-database.ts';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';
import type { JournalId } from '../../../src/projections/database-port.ts';
import type { StoredRecord } from '../../../src/ports/log.ts';
import type { HistoryEvent } from '../../../src/history/run/events.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';

/** What was acknowledged to clients and workers, and what they were given to read. */
export type Told =
  | { readonly kind: 'started'; readonly runId: string; readonly requestId: string }
  | { readonly kind: 'signaled'; readonly runId: string; readonly requestId: string }
  | { readonly kind: 'workflowTaskCompleted'; readonly runId: string; readonly startedEventId: number }
  | { readonly kind: 'activityCompleted'; readonly runId: string; readonly scheduledEventId: number; readonly result: string }
  /** `task`: one attempt of it. */
  | { readonly kind: 'delivered'; readonly task: string; readonly pollRequestId: string }
  | { readonly kind: 'deleted'; readonly runId: string }
  /** Of a workflow id, whichever run it had. */
  | { readonly kind: 'signaledCurrent'; readonly requestId: string }
  /** `runId`: of the run that goes on. */
  | { readonly kind: 'reset'; readonly runId: string; readonly requestId: string }
  | { readonly kind: 'paused' | 'unpaused'; readonly runId: string; readonly requestId: string }
  /** From the first event on; none: the run is not known any more. */
  | { readonly kind: 'read'; readonly runId: string; readonly events: readonly Uint8Array[] };

type Begun = Extract<HistoryEvent, { type: 'workflowExecutionStarted' }>['attributes'];

export type RunInJournal = {
  readonly requestId: string;
  /** The request that has made it go on from an event of another; '': none. */
  readonly resetBy: string;
  readonly events: readonly { readonly event: HistoryEvent; readonly bytes: Uint8Array }[];
  readonly isForgotten: boolean;
};

/** The journal of a shard. */
export class Journal extends FoldedJournal<Shard, HistoryRecord> {
  /** Of all runs that were folded at some time. */
  readonly runIds = new Set<string>();

  protected empty(): Shard {
    return new Shard();
  }

  protected decode({ value, schema }: StoredRecord): HistoryRecord {
    return historyCodec.decode(value, schema);
  }

  protected apply(shard: Shard, record: HistoryRecord): void {
    evolve(shard, record, historyWire);
    for (const { runId } of record.runs) this.runIds.add(runId);
  }

  /** In order. */
  get records(): readonly HistoryRecord[] {
    return this.effective().map(({ record }) => record);
  }

  get hasOpenRuns(): boolean {
    return [...this.folded().runs.values()].some(isOpen);
  }

  get pausedKeys(): readonly RunKey[] {
    return [...this.folded().runs.values()].filter((run) => isOpen(run) && run.pause !== undefined).map(({ key }) => key);
  }

  get openKeys(): readonly RunKey[] {
    return [...this.folded().runs.values()].filter(isOpen).map(({ key }) => key);
  }

  /** Each with its history, for people; but for those. */
  openRuns(others: ReadonlySet<string>): readonly string[] {
    const runs = this.checkedRuns();
    const open = [...this.folded().runs.values()].filter((run) => isOpen(run) && !others.has(run.key.runId));
    return open.map(({ key: { workflowId, runId } }) => {
      const events = runs.get(runId)?.events.map(({ event }) => event.type) ?? [];
      return `${workflowId} ${runId}: ${events.join(', ')}`;
    });
  }

  /** I2, I5, I9: events of each run count from 1, time never goes back, and no request starts or signals twice. */
  checkedRuns(): ReadonlyMap<string, RunInJournal> {
    const runs = new Map<string, { requestId: string; resetBy: string; events: RunInJournal['events'][number][]; isForgotten: boolean }>();
    /** Runs of a request that are not forgotten. */
    const started = new Map<string, string>();
    const signaled = new Set<string>();
    /** Of each workflow id, the first run of its newest chain: a start that comes again is known to that one, and to none before it. */
    const newestChain = new Map<string, string>();
    const forget = (runId: string): void => {
      const run = runs.get(runId);
      if (run === undefined) return;
      run.isForgotten = true;
      started.delete(run.requestId);
    };
    let lastTimeMs = 0;
    for (const { offset, record } of this.effective()) {
      check(record.timeMs >= lastTimeMs, 'I9 time goes back', () => `${record.timeMs} after ${lastTimeMs} at offset ${offset}`);
      lastTimeMs = record.timeMs;
      const { workflowId } = record;
      for (const { runId, events, facts } of record.runs) {
        const run = runs.get(runId) ?? { requestId: '', resetBy: '', events: [], isForgotten: false };
        runs.set(runId, run);
        let begun: Begun | undefined;
        for (const recorded of events) {
          const { event } = recorded;
          check(event.eventId === run.events.length + 1, 'I2 gap', () => `${runId}: event ${event.eventId} at offset ${offset}`);
          run.events.push(recorded);
          if (event.type === 'workflowExecutionStarted') begun = event.attributes;
          if (event.type !== 'workflowExecutionSignaled') continue;
          const { requestId } = event.attributes;
          check(!signaled.has(`${runId} ${requestId}`), 'I5 applied twice', () => `signal ${requestId} of ${runId}, at offset ${offset}`);
          if (requestId !== '') signaled.add(`${runId} ${requestId}`);
        }
        for (const { fact } of facts) {
          if (fact.kind === 'runForgotten') forget(runId);
          if (fact.kind === 'runReset') run.resetBy = fact.requestId;
          if (fact.kind !== 'startRequest' || fact.requestId === '') continue;
          run.requestId = fact.requestId;
          const before = started.get(fact.requestId);
          const isReset = facts.some((each) => each.fact.kind === 'runReset');
          const mayBegin =
            before === undefined || isReset || (begun?.parentWorkflowExecution === undefined && before !== newestChain.get(workflowId));
          check(mayBegin, 'I1 started twice', () => `request ${fact.requestId} has ${before} and ${runId}`);
          started.set(fact.requestId, runId);
        }
        if (begun !== undefined) newestChain.set(workflowId, begun.firstExecutionRunId);
      }
      for (const { runId } of record.retiredRuns ?? []) forget(runId);
    }
    return runs;
  }
}

/**
 * I3: a memory over its rows is the journal, folded up to where it stands. What was not in memory leaves it again. Where the rows are no
 * longer its own, which it need not know yet, nothing can be told.
 */
export function checkMemory(
  name: string,
  { core, checkpointer }: Pick<HistoryMemory, 'core' | 'checkpointer'>,
  rows: { readonly disk: SimDisk; readonly id: JournalId } | undefined,
  journal: Journal,
  lastOffset: number,
): void {
  const resident = new Set(core.shard.runs.keys());
  if (rows !== undefined && checkpointer !== undefined) {
    const { tables } = rows.disk;
    const { fence, position } = tables.journal(rows.id);
    if (fence !== checkpointer.fence || position?.nextOffset !== checkpointer.written?.nextOffset) return;
    if (core.transferWindow?.isReading === true) return;
    if (isSilenced(journal.folded(lastOffset), rows.disk)) return;
    loadAll(core, tables, rows.id);
  }
  const live = core.canonicalState();
  for (const runId of [...core.shard.runs.keys()]) if (!resident.has(runId)) core.evict(runId);
  if (rows !== undefined) tasksLeave(core, 0);
  const folded = canonicalText(journal.folded(lastOffset));
  check(live === folded, 'I3 memory is not its journal', () => `${name} at offset ${lastOffset}: ${difference(live, folded)}`);
}

/** T12: the rows of a journal are the journal, folded up to the position of their checkpoint: runs, tasks and history. */
export async function checkRows(disk: SimDisk, id: JournalId, journal: Journal): Promise<void> {
  const { tables } = disk;
  const { position, history } = tables.journal(id);
  if (position === undefined) return;
  const core = new HistoryCore({ wire: historyWire, stateWire: stateCodecBesideHistory });
  core.install(shardRows(tables, id), position);
  // Their rows are left as they are until somebody has mended them.
  if (core.residency.behind.values().length > 0) return;
  const folded = journal.folded(position.lastOffset);
  if (isSilenced(folded, disk)) return;
  const [rows, wanted] = [core.canonicalState(), canonicalText(folded)];
  check(rows === wanted, 'T12 rows differ from their position', () => `at ${position.lastOffset}: ${difference(rows, wanted)}`);
  for (const { key, nextEventId } of folded.runs.values()) {
    const ends = [...history.values()]
      .filter(({ runId, branch }) => runId === key.runId && branch === 0)
      .map(({ lastEventId }) => lastEventId);
    const last = Math.max(0, ...ends);
    check(last === nextEventId - 1, 'T12 events differ from their position', () => `${key.runId} has ${nextEventId - 1}, its rows ${last}`);
  }
}

/**
 * Some run was deleted, and there is a message of it that is not delivered, while its row could not be read: then nobody knows what it has to say, and its
 * parent and its children hear nothing of it (a WARN says so). Who could read it, as the journal's fold here, knows.
 */
function isSilenced({ transfers }: Shard, { everDamaged }: SimDisk): boolean {
  return everDamaged.size > 0 && [...transfers.values()].some((task) => isLastMessage(task) && everDamaged.has(task.key.runId));
}

/** Parents of such runs, which may wait for ever. */
export function parentsOfSilenced(journals: readonly Journal[], { everDamaged }: SimDisk): ReadonlySet<string> {
  const deleted = journals
    .flatMap((journal) => [...journal.checkedRuns()])
    .filter(([runId, run]) => run.isForgotten && everDamaged.has(runId));
  const begun = deleted.flatMap(([, { events }]) => events.slice(0, 1)).map(({ event }) => event);
  return new Set(
    begun.flatMap((event) => (event.type === 'workflowExecutionStarted' ? (event.attributes.parentWorkflowExecution?.runId ?? []) : [])),
  );
}

/** What List would show at any time: nothing that the journals do not hold yet. */
export function checkNotAhead({ visibility }: MemoryTables, journals: readonly Journal[]): void {
  const runs = new Map(journals.flatMap((journal) => [...journal.folded().runs]));
  for (const { workflowId, runId, status } of visibility.values()) {
    const isKnown = journals.some((journal) => journal.runIds.has(runId));
    check(isKnown, 'T12 List is ahead of the log', () => `${workflowId} ${runId} is listed, and not begun`);
    const run = runs.get(runId);
    const mayBe = run === undefined || !isRunning(run) || isShownOpen(status);
    check(mayBe, 'T12 List is ahead of the log', () => `${workflowId} ${runId} is listed as ${status}, and open`);
  }
}

/** One that is prepared for a reset waits for nothing. */
function isOpen(run: RunView): boolean {
  return isRunning(run) && run.preparation === undefined;
}

/** Be it paused: an older row may show what was before. */
function isShownOpen(shown: number): boolean {
  return shown === statuses.running || shown === statuses.paused;
}

/** Runs that were deleted, and whose rows of List went after that: nobody who flushes or builds rows brings one back. */
export class Unlisted {
  #listed = new Set<string>();
  readonly #gone = new Set<string>();
  #edition = 0;

  /** As it is now, however it came about. */
  look(disk: SimDisk, journals: readonly Journal[]): void {
    for (const runId of this.#listedAgain(disk, journals)) this.#gone.delete(runId);
  }

  check(disk: SimDisk, journals: readonly Journal[]): void {
    for (const runId of this.#listedAgain(disk, journals)) check(false, 'T12 a deleted run is listed again', () => runId);
  }

  #listedAgain({ tables, listEdition }: SimDisk, journals: readonly Journal[]): readonly string[] {
    if (listEdition !== this.#edition) this.#gone.clear();
    this.#edition = listEdition;
    const before = this.#listed;
    this.#listed = new Set([...tables.visibility.values()].map(({ runId }) => runId));
    for (const runId of before) {
      const isForgotten = journals.some((journal) => journal.runIds.has(runId) && !journal.folded().runs.has(runId));
      if (isForgotten && !this.#listed.has(runId)) this.#gone.add(runId);
    }
    return [...this.#gone].filter((runId) => this.#listed.has(runId));
  }
}

/** What List would show in the end: every run that is not forgotten, as it ended, and no other. */
export function checkListed({ visibility }: MemoryTables, journals: readonly Journal[]): void {
  const runs = new Map(journals.flatMap((journal) => [...journal.folded().runs]));
  const rows = new Map([...visibility.values()].map((row) => [row.runId, row]));
  for (const run of runs.values()) {
    const { workflowId, runId } = run.key;
    const row = rows.get(runId);
    const summary = summaryOf(run);
    const [listed, wanted] = [row && shown(row), summary && shown(summary)];
    check(listed === wanted, 'T12 rows of List differ', () => `${workflowId} ${runId} is ${wanted}, and listed as ${listed}`);
  }
  for (const { workflowId, runId } of rows.values()) {
    check(runs.has(runId), 'T12 rows of List differ', () => `${workflowId} ${runId} is listed, and forgotten`);
  }
}

function shown({
  status,
  closeTimeMs,
  historyLength,
}: Pick<RunSummary, 'status' | 'closeTimeMs'> & Pick<VisibilityRow, 'historyLength'>): string {
  return `${status}, ${closeTimeMs === undefined ? 'open' : `closed at ${closeTimeMs} with ${historyLength} events`}`;
}

/** I5, I8, I13: what was acknowledged is there, no attempt was handed out twice, and what was read is what the journal holds. */
export function checkTold(told: readonly Told[], runs: ReadonlyMap<string, RunInJournal>, everDamaged: ReadonlySet<string>): void {
  const polls = new Map<string, string>();
  for (const each of told) {
    if (each.kind === 'delivered') {
      const { task, pollRequestId } = each;
      const before = polls.get(task) ?? pollRequestId;
      check(before === pollRequestId, 'I8 handed out twice', () => `${task}: to ${before} and ${pollRequestId}`);
      polls.set(task, pollRequestId);
      continue;
    }
    if (each.kind === 'signaledCurrent') {
      const isSomewhere = [...runs.values()].some((one) => hasEvent(one, 'workflowExecutionSignaled', each.requestId));
      check(isSomewhere || everDamaged.size > 0, 'I5 acknowledged and lost', () => describe(each));
      continue;
    }
    const run = runs.get(each.runId);
    check(run !== undefined, 'I5 acknowledged and lost', () => JSON.stringify(each));
    if (run === undefined) continue;
    // Deleted while nobody could read it: what was buffered never became an event.
    const isUnread = each.kind === 'signaled' && run.isForgotten && everDamaged.has(each.runId);
    const isThere = isUnread || wasTold(each, run);
    check(isThere, each.kind === 'read' ? 'I13 read of what does not count' : 'I5 acknowledged and lost', () => describe(each));
  }
}

function wasTold(told: Exclude<Told, { kind: 'delivered' | 'signaledCurrent' }>, run: RunInJournal): boolean {
  const { requestId, events, isForgotten } = run;
  switch (told.kind) {
    case 'started':
      return requestId === told.requestId;
    case 'signaled':
      return hasEvent(run, 'workflowExecutionSignaled', told.requestId);
    case 'paused':
      return hasEvent(run, 'workflowExecutionPaused', told.requestId);
    case 'unpaused':
      return hasEvent(run, 'workflowExecutionUnpaused', told.requestId);
    case 'reset':
      return run.resetBy === told.requestId;
    case 'workflowTaskCompleted':
      return events.some(({ event }) => event.type === 'workflowTaskCompleted' && event.attributes.startedEventId === told.startedEventId);
    case 'activityCompleted':
      return events.some(
        ({ event }) =>
          event.type === 'activityTaskCompleted' &&
          event.attributes.scheduledEventId === told.scheduledEventId &&
          Buffer.from(event.attributes.result ?? []).toString() === told.result,
      );
    case 'deleted':
      return isForgotten;
    case 'read':
      if (told.events.length === 0) return isForgotten;
      return told.events.every((bytes, index) => Buffer.compare(bytes, events[index]?.bytes ?? new Uint8Array()) === 0);
  }
}

type Requested = 'workflowExecutionSignaled' | 'workflowExecutionPaused' | 'workflowExecutionUnpaused';

function hasEvent({ events }: RunInJournal, type: Requested, requestId: string): boolean {
  return events.some(({ event }) => event.type === type && 'requestId' in event.attributes && event.attributes.requestId === requestId);
}

function describe(told: Told): string {
  return told.kind === 'read' ? `${told.events.length} events of ${told.runId} are not those of the journal` : JSON.stringify(told);
}
