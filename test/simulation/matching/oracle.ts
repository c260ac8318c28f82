/** What must be true of matching hosts, judged from the whole journals, trimmed or not. */
import { MatchingCore } from '../../../src/matching/matching-core.ts';
import type { MatchingRecord } from '../../../src/matching/matching-records.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import { taskIdentity } from '../../../src/matching/matching-tasks.ts';
import { matchingCodec } from '../../../src/codec/matching-codec.ts';
import { matchingStateCodec } from '../../../src/codec/matching-state-codec.ts';
import { matchingQueuesOf, type MemoryTables } from '../../support/memory-database.ts';
import { difference, FoldedJournal } from '../folded-journal.ts';
import { check } from '../oracle.ts';
import type { Checkpointer } from '../../../src/projections/checkpoints/checkpointer.ts';
import type { JournalId, MatchingTaskRow } from '../../../src/projections/database-port.ts';
import type { StoredRecord } from '../../../src/ports/log.ts';

/** What stands in the journal of a host, told a second time: its stored tasks by id. */
export type StoredTasks = { readonly core: MatchingCore<never>; readonly byId: Map<number, MatchingRecord['spilled'][number]> };

export class MatchingJournal extends FoldedJournal<StoredTasks, MatchingRecord> {
  protected empty(): StoredTasks {
    return { core: new MatchingCore<never>({ firstCorrelation: 0 }), byId: new Map() };
  }

  protected decode({ value, schema }: StoredRecord): MatchingRecord {
    return matchingCodec.decode(value, schema);
  }

  protected apply({ core, byId }: StoredTasks, record: MatchingRecord): void {
    core.evolve(record);
    for (const spilled of record.spilled) byId.set(spilled.id, spilled);
    for (const id of record.removed) byId.delete(id);
  }

  /** Of the tasks that are stored, as of that offset. */
  identities(lastOffset = Infinity): readonly string[] {
    return Array.from(this.folded(lastOffset).byId.values(), ({ task }) => taskIdentity(task));
  }

  /** By queue, in the order in which they were stored. */
  namesIn(queue: TaskQueuePartition): readonly string[] {
    const key = taskQueuePartitionKey(queue);
    const stored = [...this.folded().byId.values()].filter((each) => taskQueuePartitionKey(each.queue) === key);
    return stored.toSorted((one, other) => one.id - other.id).map(({ task }) => task.key.workflowId);
  }
}

type MemoryOverRows = {
  readonly matching: Pick<MatchingCore<never>, 'canonicalState'>;
  readonly checkpointer: Pick<Checkpointer, 'fence' | 'written'> | undefined;
};

/**
 * I3: a memory over its rows is the journal, folded up to where it stands. Where the rows are no longer its own, which it need not know yet,
 * nothing can be told.
 */
export function checkMemory(
  name: string,
  { matching, checkpointer }: MemoryOverRows,
  rows: ReturnType<MemoryTables['journal']> | undefined,
  journal: MatchingJournal,
  lastOffset: number,
): void {
  if (rows !== undefined && checkpointer !== undefined) {
    if (rows.fence !== checkpointer.fence || rows.position?.nextOffset !== checkpointer.written?.nextOffset) return;
  }
  const [found, wanted] = [matching.canonicalState(byId(rows)), journal.folded(lastOffset).core.canonicalState()];
  check(found === wanted, 'I3 memory is not its journal', () => `${name} at offset ${lastOffset}: ${difference(found, wanted)}`);
}

function byId(rows: ReturnType<MemoryTables['journal']> | undefined): readonly MatchingTaskRow[] {
  return [...(rows?.matchingTasks.values() ?? [])].toSorted((one, other) => one.taskId - other.taskId);
}

/** T12: the rows of a journal are the journal, folded up to the position of their checkpoint. */
export function checkRows(tables: MemoryTables, id: JournalId, journal: MatchingJournal): void {
  const rowsOf = tables.journal(id);
  const { position } = rowsOf;
  if (position === undefined) return;
  const core = new MatchingCore<never>({ firstCorrelation: 0, backlogWire: matchingStateCodec });
  core.install(matchingQueuesOf(rowsOf.matchingTasks.values()));
  core.installed(position);
  const [rows, wanted] = [core.canonicalState(), journal.folded(position.lastOffset).core.canonicalState()];
  check(rows === wanted, 'T12 rows differ from their position', () => `at ${position.lastOffset}: ${difference(rows, wanted)}`);
}
