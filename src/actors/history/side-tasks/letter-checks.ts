/**
 * Whether a closed run is still needed for a letter, of its archive task or of one of its callbacks; and whether a schedule has starts that are letters.
 *
 *     letterCheck ─▶ each queue that may hold one: is it there? may it come back? ─▶ letterChecked
 *
 * Where nobody can tell it is taken to be there: the run is kept, and asked for again.
 */
import type { DeadLetterRequest } from '../../../deadletters/commands.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import { checkedCategories, type CheckedCategory } from '../../../history/hand-over/checked-letters.ts';
import type { Asker, DeadLetterAnswer } from '../../asks/router.ts';
import type { Clock } from '../../ports.ts';
import { SideRoom } from './side-room.ts';
import type { LetterCheckTask, SideAnswer, SideRunner } from './side-tasks.ts';

export type LetterChecksOptions = {
  readonly router: Pick<Asker, 'askDeadLetters' | 'askCluster'>;
  /** undefined: none is known yet. */
  readonly queueNumberOf: (category: CheckedCategory) => number | undefined;
  readonly clock: Pick<Clock, 'monoMs'>;
};

const checking = { placesMax: 8, placesPerDestinationMax: 8 } as const;
const ATTEMPT_MS_MAX = 60_000;
const ASK_TIMEOUT_MS = 10_000;

export function letterCheckRunner(options: LetterChecksOptions): SideRunner<LetterCheckTask> {
  const checks = new LetterChecks(options);
  return {
    room: new SideRoom(() => checking),
    placeOf: ({ key: { namespaceId } }) => ({ destination: 'letters', namespaceId }),
    attemptMsMax: ATTEMPT_MS_MAX,
    attempt: (task) => checks.check(task),
  };
}

class LetterChecks {
  readonly #options: LetterChecksOptions;

  constructor(options: LetterChecksOptions) {
    this.#options = options;
  }

  async check({ key, taskId }: LetterCheckTask): Promise<SideAnswer> {
    let isOpen = false;
    for (const category of checkedCategories(key)) isOpen ||= await this.#mayHold(category, key);
    return { kind: 'done', command: { kind: 'letterChecked', taskId, isOpen } };
  }

  async #mayHold(category: CheckedCategory, key: RunKey): Promise<boolean> {
    const { queueNumberOf } = this.#options;
    // What this process has folded of the queues may lag behind.
    if (queueNumberOf(category) === undefined && !(await this.#readQueues())) return true;
    const queue = queueNumberOf(category);
    if (queue === undefined) return false;
    const found = await this.#ask(queue, { kind: 'findLetters', condition: ofRun(key), afterMessageId: -1, max: 1 });
    if (found.kind !== 'letterIds' || found.ids.length > 0) return true;
    // It may be among those that were purged, and come back yet: its run must not be gone then.
    const counted = await this.#ask(queue, { kind: 'countLetters' });
    return counted.kind !== 'counted' || counted.uncutPurges > 0;
  }

  #ask<Request extends DeadLetterRequest>(queue: number, request: Request): Promise<DeadLetterAnswer<Request>> {
    const { router, clock } = this.#options;
    return new Promise((resolve) => {
      router.askDeadLetters(queue, request, clock.monoMs() + ASK_TIMEOUT_MS, resolve);
    });
  }

  #readQueues(): Promise<boolean> {
    const { router, clock } = this.#options;
    return new Promise((resolve) => {
      router.askCluster({ kind: 'syncCluster' }, clock.monoMs() + ASK_TIMEOUT_MS, ({ kind }) => resolve(kind === 'done'));
    });
  }
}

/** By its workflow id there is an index. */
function ofRun({ workflowId, runId }: RunKey) {
  const equals = (name: string, operand: string) =>
    ({ kind: 'compare', column: { name, kind: 'keyword' }, operator: '=', operand }) as const;
  return { kind: 'and', conditions: [equals('WorkflowId', workflowId), equals('RunId', runId)] } as const;
}
