/**
 * What must be true of a run, judged from the log as it stands at the end and from all that anyone was told. Shares no code with
 * what it judges: the rule of effective records is written down here a second time.
 */
import type { LedgerReply } from '../actors/ledger.ts';
import type { StoredRecord } from '../../src/ports/log.ts';

/** A broken invariant, by its number in the reliability notes. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

export type Entry = { readonly id: string; readonly offset: number; readonly timeMs: number };

/** One ask as its caller saw it. `invoked` and `answered` are marks: they order what happened without ties. */
export type Observation = {
  readonly what: string;
  readonly id: string | undefined;
  readonly invoked: number;
  readonly answered: number;
  readonly reply: LedgerReply;
};

/** What one memory of one owner was told of commits, in order. */
export type MemoryLog = {
  readonly name: string;
  readonly commits: { readonly id: string; readonly offset: number }[];
  readonly dispatched: string[];
};

/** What stands in the database for one journal. */
export type RowsAtRest = {
  readonly position: { readonly lastOffset: number } | undefined;
  readonly matchingTasks: ReadonlyMap<number, { readonly taskId: number; readonly task: Uint8Array }>;
};

/** How often an entry was asked for, and how often its caller heard for certain that nothing came of it. */
export type Tries = { asked: number; refused: number };

/** The rule of effective records, for one journal from its start. */
export class CountingRule {
  #epoch = 0;
  #next = 0;

  /** Of the next record. A claim counts for nothing but the rule itself. */
  counts(record: StoredRecord): boolean {
    const { key, epoch, sequence, value } = record;
    if (key === '@claim') {
      if (epoch > this.#epoch && epoch <= this.#epoch + 1_000_000 && isClaim(value)) [this.#epoch, this.#next] = [epoch, 1];
      return false;
    }
    if (this.#epoch === 0 || epoch !== this.#epoch || sequence !== this.#next) return false;
    this.#next += 1;
    return true;
  }
}

export function entriesThatCount(records: readonly StoredRecord[]): Entry[] {
  const rule = new CountingRule();
  return records.filter((record) => rule.counts(record)).map(({ workflowId, offset, timeMs }) => ({ id: workflowId, offset, timeMs }));
}

function isClaim(value: Uint8Array): boolean {
  try {
    const claim: unknown = JSON.parse(Buffer.from(value).toString());
    return typeof claim === 'object' && claim !== null && 'ownerNonce' in claim && claim.ownerNonce !== '';
  } catch {
    return false;
  }
}

export function check(condition: boolean, invariant: string, message: () => string): void {
  if (!condition) throw new Violation(invariant, message());
}

/** I5, I9: each accepted entry is there once, in an order of time. */
export function checkJournal(entries: readonly Entry[]): void {
  const seen = new Set<string>();
  let lastTimeMs = 0;
  for (const { id, offset, timeMs } of entries) {
    check(!seen.has(id), 'I5 applied twice', () => `${id}, again at offset ${offset}`);
    check(timeMs >= lastTimeMs, 'I9 time goes back', () => `${timeMs} after ${lastTimeMs} at offset ${offset}`);
    seen.add(id);
    lastTimeMs = timeMs;
  }
}

/** I3, I10: what an owner believed to be committed is what the log holds, record by record, and it acted on nothing else. */
export function checkMemory(memory: MemoryLog, entries: readonly Entry[]): void {
  const known = new Set<string>();
  memory.commits.forEach(({ id, offset }, index) => {
    const entry = entries[index];
    const message = (): string => `${memory.name}: commit ${index} is ${id}@${offset}, the journal has ${entry?.id}@${entry?.offset}`;
    check(entry?.id === id && entry.offset === offset, 'I10 rests on a record that does not count', message);
    known.add(id);
  });
  for (const id of memory.dispatched) {
    check(known.has(id), 'I10 effect before its commit', () => `${memory.name} dispatched ${id}`);
  }
}

/** T12: the rows of a journal are its entries up to the position of their checkpoint, no more and no fewer. */
export function checkRows(tables: RowsAtRest, entries: readonly Entry[]): void {
  const { position, matchingTasks } = tables;
  const wanted = entries.filter(({ offset }) => offset <= (position?.lastOffset ?? -1));
  const found = [...matchingTasks.values()].toSorted((one, other) => one.taskId - other.taskId);
  const rows = found.map(({ task }) => JSON.parse(new TextDecoder().decode(task)) as Entry);
  const text = (each: readonly Entry[]): string => each.map(({ id, offset }) => `${id}@${offset}`).join();
  check(text(rows) === text(wanted), 'T12 rows differ from their position', () => `at ${position?.lastOffset}: ${text(rows)}`);
}

/** I5: what was acknowledged is there. I13: the answers, each at some moment between asking and answering, agree on one order. */
export function checkObservations(
  observations: readonly Observation[],
  entries: readonly Entry[],
  firstInvoked: ReadonlyMap<string, number>,
): void {
  for (const observation of observations) checkContent(observation, entries);
  // An append-only list is linearizable if its length never shrinks in real time and never runs ahead of what was asked.
  const byAnswer = [...observations].sort((left, right) => left.answered - right.answered);
  const byInvoke = [...observations].sort((left, right) => left.invoked - right.invoked);
  let longest = 0;
  let index = 0;
  for (const observation of byInvoke) {
    for (let done = byAnswer[index]; done !== undefined && done.answered < observation.invoked; done = byAnswer[++index]) {
      longest = Math.max(longest, lengthSeen(done));
    }
    const seen = lengthSeen(observation);
    const message = (): string => `${observation.what} saw ${seen} entries, an earlier answer rested on ${longest}`;
    if (observation.reply.kind !== 'added') check(seen >= longest, 'I13 stale read', message);
  }
  for (const observation of observations) {
    for (const { id } of entries.slice(0, lengthSeen(observation))) {
      const invoked = firstInvoked.get(id) ?? Infinity;
      check(invoked < observation.answered, 'I13 read ahead', () => `${observation.what} saw ${id} before it was asked for`);
    }
  }
}

/** I14: what was refused every time is not there. */
export function checkRefusals(tries: ReadonlyMap<string, Tries>, entries: readonly Entry[]): void {
  for (const { id, offset } of entries) {
    const { asked, refused } = tries.get(id) ?? { asked: Infinity, refused: 0 };
    check(asked > refused, 'I14 refused and done', () => `${id} was refused ${refused} times and stands at offset ${offset}`);
  }
}

function checkContent({ what, id, reply }: Observation, entries: readonly Entry[]): void {
  switch (reply.kind) {
    case 'added':
      check(
        entries[reply.place]?.id === id,
        'I5 acknowledged and lost',
        () => `${what}: place ${reply.place} has ${entries[reply.place]?.id}`,
      );
      return;
    case 'entries':
      reply.entries.forEach((read, index) => {
        check(
          entries[index]?.id === read,
          'I13 read of what does not count',
          () => `${what}: place ${index} read ${read}, the journal has ${entries[index]?.id}`,
        );
      });
      return;
    case 'refused':
      check(reply.count <= entries.length, 'I13 read of what does not count', () => `${what}: ${reply.count} of ${entries.length}`);
      return;
    case 'canceled':
      return;
  }
}

function lengthSeen({ reply }: Observation): number {
  if (reply.kind === 'added') return reply.place + 1;
  if (reply.kind === 'entries') return reply.entries.length;
  return reply.kind === 'refused' ? reply.count : 0;
}
