/**
 * Brings in the runs that records of a fold change, before they are applied: folding never waits.
 *
 *     a read of the log ─▶ records ─▶ what they change and do not begin, and memory has not ─▶ loaded, 200 at a time ─▶ all are applied
 *
 * What is loaded is as new as memory: rows are the journal folded up to the checkpoint, nobody else writes them under our fence, and what has
 * left memory since has a row that is what it was. A run whose row cannot be read is left behind: what the journal brings for it waits, and all
 * others go on.
 */
import { assert } from '../../../kernel/assert.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryRecord } from '../../../history/record.ts';
import type { Loaded } from '../../../history/residency/install-loaded.ts';
import type { LoadKey } from '../../database.ts';
import type { ReadAhead } from '../../partition/partition-core.ts';
import type { LoopTurns } from '../../loop-turns.ts';
import type { LoadedRun, LoadRuns } from './events-left-out.ts';
import { leaveBehind } from './waiting-records.ts';

export type HistoryReadAheadOptions = {
  readonly core: HistoryCore;
  readonly load: LoadRuns;
  readonly turns: LoopTurns;
  /** All that was read before is applied: what is written may leave memory. */
  readonly makeRoom: () => void;
  /** Something has come into memory. */
  readonly onInstalled: () => void;
};

/** Of one load. */
const KEYS_MAX = 200;

export class HistoryReadAhead implements ReadAhead<HistoryRecord> {
  readonly #options: HistoryReadAheadOptions;

  constructor(options: HistoryReadAheadOptions) {
    this.#options = options;
  }

  /** Also of runs that begin among these records: the one that begins may not count, or was folded before and is read once more as the last one. */
  load(records: Iterable<HistoryRecord>): Promise<'fenced' | undefined> | undefined {
    const { core, makeRoom } = this.#options;
    makeRoom();
    const lacking = new Map<string, LoadKey>();
    for (const record of records) {
      for (const key of core.recordLacks(record) ?? []) {
        assert(key.kind === 'run', 'records change runs');
        lacking.set(key.runId, key);
      }
    }
    return lacking.size === 0 ? undefined : this.#load([...lacking.values()]);
  }

  /** Those that are not in memory. */
  async loadRuns(keys: readonly RunKey[]): Promise<'fenced' | undefined> {
    return await this.#load(keys.map((key): LoadKey => ({ kind: 'run', ...key })));
  }

  async #load(keys: readonly LoadKey[]): Promise<'fenced' | undefined> {
    for (let from = 0; from < keys.length; from += KEYS_MAX) {
      if ((await this.#loadSome(keys.slice(from, from + KEYS_MAX))) === 'fenced') return 'fenced';
    }
    return undefined;
  }

  /** Once more, as often as a checkpoint has deleted runs meanwhile: what was read may be of one of them. */
  async #loadSome(keys: readonly LoadKey[]): Promise<'fenced' | undefined> {
    const { core, load, turns } = this.#options;
    for (;;) {
      const begunAt = core.beginLoad();
      const rows = await load(keys);
      if (rows === 'fenced') return rows;
      await turns.through(this.#installing(rows, keys, begunAt));
      this.#options.onInstalled();
      if (core.beginLoad() === begunAt) return undefined;
    }
  }

  /** With a pause after each: two hundred runs may have a hundred megabytes of state. Up to the first that may be of a run that was deleted. */
  *#installing(rows: readonly LoadedRun[], keys: readonly LoadKey[], begunAt: number): Generator<undefined, void> {
    for (const [at, row] of rows.entries()) {
      if (!this.#install({ ...row, key: keys[at]! }, begunAt)) return;
      yield;
    }
  }

  /** False: runs were deleted since. A row that cannot be read is the trouble of its run alone. */
  #install(loaded: Loaded, begunAt: number): boolean {
    const { core } = this.#options;
    try {
      return core.installLoaded([loaded], begunAt);
    } catch (error) {
      assert(loaded.key.kind === 'run', 'records change runs');
      leaveBehind(core, loaded.key, error);
      return true;
    }
  }
}
