/**
 * Runs whose rows cannot be read, while the journal goes on with them. One damaged row must not stop its shard: what a fold brings for such a
 * run waits, and the shard goes on.
 *
 *     fold: needs a run ─▶ its row is damaged ─▶ behind: records wait ─ a checkpoint ─▶ rows of the records; the run's own is left as it is
 *                                                   │                                       └─ a restart ─▶ behind
 *                                                   └── somebody has repaired the row: it is loaded ─▶ the records, onto it ─▶ as if nothing had been
 *
 * The records wait in the database and not in the journal: that would have to be kept from there on, with all that comes for everybody else,
 * until somebody has repaired the row, or for ever. Tasks are in their queues as ever, and find no run until then.
 */
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryRecord } from '../run/record.ts';

export type RunBehind = {
  readonly key: RunKey;
  /** Why it is behind, for people. */
  readonly reason: string;
  readonly records: number;
};

export type BehindCut = {
  readonly runs: readonly (RunKey & { readonly records: number })[];
  /** Records that no checkpoint has written; `index`: from 1. */
  readonly unwritten: readonly { readonly runId: string; readonly index: number; readonly record: HistoryRecord }[];
};

type Behind = {
  readonly key: RunKey;
  reason: string;
  /** undefined: a checkpoint has it, and it cannot be read either. */
  readonly records: (HistoryRecord | undefined)[];
  /** How many of them checkpoints have. */
  written: number;
};

export class RunsBehind {
  readonly #runs = new Map<string, Behind>();
  /** Run ids since `takeComeBack` was called last. */
  readonly #comeBack: string[] = [];

  get size(): number {
    return this.#runs.size;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  values(): readonly RunBehind[] {
    return Array.from(this.#runs.values(), ({ key, reason, records }) => ({ key, reason, records: records.length }));
  }

  /** For a run whose row cannot be read now: what a fold brings for it waits, until `installLoaded` is given one that can be read. */
  add({ namespaceId, workflowId, runId }: RunKey, reason: string): void {
    const behind = this.#runs.get(runId);
    if (behind === undefined) this.#runs.set(runId, { key: { namespaceId, workflowId, runId }, reason, records: [], written: 0 });
    else behind.reason = reason;
  }

  wait(runId: string, record: HistoryRecord): void {
    const records = this.#runs.get(runId)?.records;
    // It may name the run, and bring several of its tasks.
    if (records?.at(-1) !== record) records?.push(record);
  }

  /** Yields the records that wait, in their order. Throws when one of them cannot be read. */
  *recordsOf(runId: string): Generator<HistoryRecord, void> {
    for (const [at, record] of (this.#runs.get(runId)?.records ?? []).entries()) {
      if (record === undefined) throw new Error(`record ${at + 1} of those that wait for run ${runId} cannot be read`);
      yield record;
    }
  }

  delete(runId: string): void {
    this.#runs.delete(runId);
  }

  comesBack(runId: string): void {
    this.#runs.delete(runId);
    this.#comeBack.push(runId);
  }

  /** Runs that came back since this was asked last, with the records that had waited for them. */
  takeComeBack(): readonly string[] {
    return this.#comeBack.length === 0 ? [] : this.#comeBack.splice(0);
  }

  /** A checkpoint says that so many records wait for it. */
  install({ namespaceId, workflowId, runId, records: count }: RunKey & { readonly records: number }): void {
    const records = Array.from({ length: count }, () => undefined);
    this.#runs.set(runId, { key: { namespaceId, workflowId, runId }, reason: 'its row is missing', records, written: count });
  }

  installRecord(runId: string, index: number, record: HistoryRecord): void {
    const records = this.#runs.get(runId)?.records;
    if (records !== undefined && index >= 1 && index <= records.length) records[index - 1] = record;
  }

  cut(): BehindCut {
    const runs: BehindCut['runs'][number][] = [];
    const unwritten: BehindCut['unwritten'][number][] = [];
    for (const { key, records, written } of this.#runs.values()) {
      if (records.length > 0) runs.push({ ...key, records: records.length });
      for (const [at, record] of records.entries()) {
        if (at >= written && record !== undefined) unwritten.push({ runId: key.runId, index: at + 1, record });
      }
    }
    return { runs, unwritten };
  }

  stored({ runs }: BehindCut): void {
    for (const { runId, records } of runs) {
      const behind = this.#runs.get(runId);
      if (behind !== undefined) behind.written = records;
    }
  }
}
