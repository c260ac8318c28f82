/**
 * Groups of all letters of a queue, as they were counted last: lists of queues and dashboards ask for the same again and again, and to count a
 * hundred thousand letters takes a tenth of a second.
 *
 *     asked ─▶ nothing was committed since ─▶ the same groups
 *                 └ something was ─▶ counted anew, and kept if nothing came meanwhile
 */
import type { LetterGrouping } from '../../../deadletters/commands.ts';
import type { DeadLetterRecord } from '../../../deadletters/records.ts';
import type { LetterGroup } from '../../../deadletters/replies.ts';

/** Of each grouping: more are seldom asked for. */
export const KEPT_GROUPS_MAX = 100;

type Kept = { readonly changes: number; readonly groups: readonly LetterGroup[]; readonly areAll: boolean };

export class KeptGroups {
  readonly #kept = new Map<LetterGrouping, Kept>();
  #changes = 0;

  /** How often something was committed that may change what groups there are. */
  get changes(): number {
    return this.#changes;
  }

  committed({ kind }: DeadLetterRecord): void {
    if (kind !== 'head' && kind !== 'handedOver') this.#changes += 1;
  }

  /** undefined: they have to be counted. */
  of(by: LetterGrouping, max: number): readonly LetterGroup[] | undefined {
    const kept = this.#kept.get(by);
    if (kept?.changes !== this.#changes) return undefined;
    return kept.areAll || max <= kept.groups.length ? kept.groups.slice(0, max) : undefined;
  }

  /** `changes`: before they were counted. `asked`: there are more where there are as many. */
  keep(changes: number, by: LetterGrouping, asked: number, groups: readonly LetterGroup[]): void {
    if (changes !== this.#changes) return;
    const areAll = groups.length < asked && groups.length <= KEPT_GROUPS_MAX;
    this.#kept.set(by, { changes, groups: groups.slice(0, KEPT_GROUPS_MAX), areAll });
  }
}
