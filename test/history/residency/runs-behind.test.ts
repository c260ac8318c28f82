/** Runs whose rows cannot be read: the shard goes on without them, and once they can be read it is as if nothing had been. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WaitingRow } from '../../../src/history/shard/rows.ts';
import { canonicalText } from '../../../src/history/run/canonical.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import { evolve } from '../../../src/history/evolve/evolve.ts';
import { HistoryCore } from '../../../src/history/history-core.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import type { LoadKey } from '../../../src/history/shard/residency.ts';
import { Shard } from '../../../src/history/shard/shard.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { stateCodec } from '../../../src/codec/state-codec.ts';
import { Table } from '../checkpointed-shard.ts';
import { fewerKinds, Program, programStep } from '../random-program.ts';
import { ShardUnderTest } from '../shard-under-test.ts';

/** A shard over a table of which some rows cannot be read. */
class DamagedShard {
  readonly table = new Table();
  readonly #waiting = new Map<string, WaitingRow>();
  readonly damaged = new Set<string>();
  core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });

  restart(): void {
    const { rows, counters } = this.table;
    this.core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
    if (counters === undefined) return;
    this.core.install({ ...rows, runs: [], currentRuns: [] }, counters);
    this.core.leaveRestInTable();
    for (const row of this.#waiting.values()) this.core.installWaiting(row);
    for (const { key } of this.core.residency.behind.values()) this.load({ kind: 'run', ...key });
  }

  fold(records: readonly HistoryRecord[]): void {
    for (const record of records) {
      for (const key of this.core.recordLacks(record) ?? []) this.load(key);
      expect(this.core.recordLacks(record)).toBeUndefined();
      this.core.evolve(record);
    }
  }

  /** As a fold does. */
  load(key: LoadKey): void {
    for (const loaded of this.table.load([key])) {
      const { run } = loaded;
      const isDamaged = run !== undefined && this.damaged.has(run.runId);
      const row = isDamaged ? { ...loaded, run: { ...run, state: run.state.slice(1) } } : loaded;
      try {
        this.core.installLoaded([row], this.core.beginLoad());
        assert(!isDamaged || this.core.has(run));
      } catch (error) {
        assert(isDamaged, error instanceof Error ? error : String(error));
        if (key.kind === 'run') this.core.residency.behind.add(key, 'damaged');
      }
    }
  }

  write(): void {
    this.core.changes.cut();
    const checkpoint = this.core.changes.capture(() => true);
    assert(checkpoint !== undefined);
    for (const { runId } of checkpoint.delta.runs) assert(!this.damaged.has(runId), 'a row that cannot be read is left as it is');
    this.table.write(checkpoint, 'rows first');
    for (const row of checkpoint.waiting) this.#waiting.set(`${row.runId} ${row.index}`, row);
    this.core.changes.durable();
  }

  loadAll(): void {
    for (const key of this.table.keys) this.load(key);
  }
}

function recordsOf(steps: readonly Parameters<Program['run']>[0][]): readonly HistoryRecord[] {
  const program = new Program(new ShardUnderTest({ retentionMsDefault: 3_600_000 }));
  program.shard.checks = false;
  for (const step of steps) program.run(step);
  return program.shard.records;
}

function forgottenIn(records: readonly HistoryRecord[]): ReadonlySet<string> {
  const forgotten = new Set<string>();
  for (const { runs, retiredRuns } of records) {
    for (const { runId } of retiredRuns ?? []) forgotten.add(runId);
    for (const { runId, facts } of runs) if (facts.some(({ fact }) => fact.kind === 'runForgotten')) forgotten.add(runId);
  }
  return forgotten;
}

function folded(records: readonly HistoryRecord[]): string {
  const shard = new Shard();
  for (const record of records) evolve(shard, record, historyWire);
  return canonicalText(shard);
}

const program = fewerKinds(fc.array(programStep, { minLength: 30, maxLength: 90, size: 'max' }));
const percent = fc.integer({ min: 0, max: 100 });

/** Which runs are damaged, by what of their rows. */
const which = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });

test('random programs: whatever rows are damaged at a restart, and however often it restarts, they come back with all that has waited', () => {
  let waited = 0;
  fc.assert(
    fc.property(program, percent, percent, which, fc.boolean(), (steps, one, other, damages, restarts) => {
      const records = recordsOf(steps);
      const [first, second] = [one, other].map((each) => Math.floor((each * records.length) / 100)).toSorted((a, b) => a - b);
      const forgotten = forgottenIn(records);
      const shard = new DamagedShard();
      shard.fold(records.slice(0, first));
      shard.write();
      const runs: readonly RunKey[] = shard.table.keys.flatMap((key) => (key.kind === 'run' ? [key] : []));
      // What ends for good meanwhile needs no row: below.
      for (const [at, { runId }] of runs.entries()) if (damages[at % damages.length] && !forgotten.has(runId)) shard.damaged.add(runId);
      shard.restart();
      shard.fold(records.slice(first, second));
      shard.write();
      if (restarts) shard.restart();
      shard.fold(records.slice(second));
      shard.write();
      if (restarts) shard.restart();
      for (const { records: count } of shard.core.residency.behind.values()) waited += count;
      shard.damaged.clear();
      shard.loadAll();
      expect(shard.core.residency.behind.values()).toEqual([]);
      expect(shard.core.canonicalState()).toBe(folded(records));
      shard.write();
      shard.restart();
      shard.loadAll();
      expect(shard.core.canonicalState(), 'and their rows say so').toBe(folded(records));
    }),
    { numRuns: 300 },
  );
  expect(waited).toBeGreaterThan(60);
}, 120_000);

test('random programs: damaged runs that are deleted meanwhile have gone, and the shard goes on', () => {
  let gone = 0;
  fc.assert(
    fc.property(program, percent, (steps, at) => {
      const records = recordsOf(steps);
      const first = Math.floor((at * records.length) / 100);
      const shard = new DamagedShard();
      shard.fold(records.slice(0, first));
      shard.write();
      const forgotten = forgottenIn(records);
      for (const key of shard.table.keys) if (key.kind === 'run' && forgotten.has(key.runId)) shard.damaged.add(key.runId);
      shard.restart();
      shard.fold(records.slice(first));
      gone += shard.damaged.size;
      for (const { key } of shard.core.residency.behind.values()) expect(forgotten.has(key.runId)).toBe(false);
      shard.write();
      for (const key of shard.table.keys) if (key.kind === 'run') expect(forgotten.has(key.runId)).toBe(false);
    }),
    { numRuns: 200 },
  );
  expect(gone).toBeGreaterThan(3);
}, 120_000);
