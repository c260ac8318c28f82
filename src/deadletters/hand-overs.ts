/**
 * Which letters came of the hand-overs of each shard of this cluster: a hand-over whose answer was lost is repeated, and gets the same ids, also when
 * those are resolved by then. Shards of a cluster that was here before are others, whatever their numbers.
 *
 *     shard 7     … 41 42 43 │ 44 45 46          sequences that the shard gives to its letters, one after the other
 *     ids                    │ 90 91 95          of the last HAND_OVER_LETTERS_MAX; what is older was answered, and the shard has journaled it
 *
 * A shard has one hand-over under way in each queue, of no more letters than that.
 */
import { fingerprint32 } from '../kernel/fingerprint.ts';
import type { LetterTask } from './letter.ts';

export const HAND_OVER_LETTERS_MAX = 100;

/** `task`: a fingerprint of the task that it was. Absent: nobody knows. */
export type HandedOver = { readonly sequence: number; readonly messageId: number; readonly task?: number };

/** `next`: new; `missing` before it are not here. `forgotten`: so old, its answer was heard. `reused`: the number was another task's. */
export type HandOverVerdict =
  | { readonly kind: 'known' | 'reused'; readonly messageId: number }
  | { readonly kind: 'next'; readonly missing: number }
  | { readonly kind: 'forgotten' };

/** Two tasks of a shard that share it are one, but for one case in four billion. */
export function taskFingerprint({ taskId, taskType, namespaceId, workflowId, runId }: LetterTask): number {
  return fingerprint32(JSON.stringify([String(taskId), taskType, namespaceId, workflowId, runId]));
}

export class HandOvers {
  /** The oldest first, sequences without a gap. */
  readonly #recent = new Map<number, HandedOver[]>();

  /** The last sequence that came from the shard; 0: none. */
  last(shard: number): number {
    return this.#recent.get(shard)?.at(-1)?.sequence ?? 0;
  }

  judge(shard: number, sequence: number, task: number): HandOverVerdict {
    const recent = this.#recent.get(shard) ?? [];
    const last = recent.at(-1)?.sequence ?? 0;
    if (sequence > last) return { kind: 'next', missing: sequence - last - 1 };
    const known = recent[recent.length - 1 - (last - sequence)];
    if (known === undefined) return { kind: 'forgotten' };
    const { messageId } = known;
    return { kind: (known.task ?? task) === task ? 'known' : 'reused', messageId };
  }

  note(shard: number, handedOver: HandedOver): void {
    const known = this.#recent.get(shard) ?? [];
    const last = known.at(-1)?.sequence ?? 0;
    if (handedOver.sequence <= last) {
      const at = known.length - 1 - (last - handedOver.sequence);
      if (at >= 0) known[at] = handedOver;
      return;
    }
    // Ids are found by counting back: what stands before one that is missing (it could not be read) is not told any more.
    const recent = last === handedOver.sequence - 1 ? known : [];
    this.#recent.set(shard, recent);
    recent.push(handedOver);
    if (recent.length > HAND_OVER_LETTERS_MAX) recent.shift();
  }

  /** What stood for the shard gives way. */
  replace(shard: number, recent: readonly HandedOver[]): void {
    this.#recent.set(shard, recent.slice(-HAND_OVER_LETTERS_MAX));
  }

  get all(): ReadonlyMap<number, readonly HandedOver[]> {
    return this.#recent;
  }
}
