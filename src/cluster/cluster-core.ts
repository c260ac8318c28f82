/** The pure core of the cluster actor. Each answer waits for its commit: whoever is told "registered" can use the namespace at once. */
import { assert } from '../kernel/assert.ts';
import { nothing, recordsOf } from '../kernel/handled.ts';
import { ClusterState, type ClusterSnapshot } from './cluster-state.ts';
import type { CarryCluster, ClusterCommand } from './cluster-commands.ts';
import { recordWeight, type CarriedPart, type ClusterRecord } from './cluster-records.ts';
import { clusterLimits, decide, type Result } from './command-table.ts';

export class ClusterCore {
  readonly #state: ClusterState;
  /** What is not written again yet; undefined: nobody wants it. What is taken from it and not written comes again with all the rest. */
  #carrying: Iterator<CarriedPart, void> | undefined;

  constructor(journalStart = 0) {
    this.#state = new ClusterState(journalStart);
  }

  handle(command: ClusterCommand | CarryCluster, nowMs: number, _askId: number): Result {
    return command.kind === 'carryCluster' ? this.#carry(command, nowMs) : decide(this.#state, command, nowMs);
  }

  idsOf(command: ClusterCommand | CarryCluster): { readonly command: string } {
    return { command: command.kind };
  }

  accept(handled: Result): void {
    for (const record of recordsOf(handled)) this.#state.evolve(record);
  }

  evolve(record: ClusterRecord): void {
    this.#state.evolve(record);
  }

  /** Nothing here waits for anything but its commit. */
  cancel(_askId: number, _nowMs: number): Result {
    return nothing;
  }

  /** Includes what is not committed yet, so it stands at no position: for decisions and tests. */
  get state(): Pick<ClusterState, 'parts' | Exclude<keyof ClusterSnapshot, 'position'>> {
    return this.#state;
  }

  get cut(): number {
    return this.#state.cut;
  }

  get lacking(): string | undefined {
    return this.#state.lacking;
  }

  /** What a journal weighs that holds nothing but what counts, as far as that was looked at: the last is all of it. Changes may come between them. */
  *weigh(): Generator<number, void> {
    let weight = 0;
    for (const part of this.#state.parts()) yield (weight += recordWeight(part));
  }

  #carry({ cut, isFirst }: CarryCluster, timeMs: number): Result {
    const records: ClusterRecord[] = isFirst ? [{ kind: 'carryingBegun', timeMs, cut }] : [];
    const parts = isFirst ? this.#state.parts() : this.#carrying;
    assert(parts !== undefined, 'what is carried on was begun');
    this.#carrying = parts;
    let weight = 0;
    let isAll = false;
    while (!isAll && records.length < clusterLimits.carriedMax && weight < clusterLimits.carriedWeightMax) {
      const next = parts.next();
      if (next.done === true) isAll = true;
      else records.push({ ...next.value, timeMs });
      if (next.value !== undefined) weight += recordWeight(next.value);
    }
    if (isAll) records.push({ kind: 'carryingFinished', timeMs, cut });
    const record = records.pop();
    assert(record !== undefined, 'something is carried, or all of it was');
    return { kind: 'commit', before: records, record, reply: undefined, effects: [{ kind: 'carried', cut, isAll }] };
  }
}
