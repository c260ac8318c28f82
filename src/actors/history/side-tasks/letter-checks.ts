/**
 * Whether a closed run is still needed for a letter, of its archive task or of one of its callbacks; and whether a schedule has starts that are letters.
 *
 *     letterCheck ─▶ each queue that may hold one: is it there? may it come back? ─▶ letterChecked
 *
 * Where nobody can tell it is taken to be there: the run is kept, and asked for again.
 */
import { ownWork } from '../../asks/asks.ts';
import type { DeadLetterRequest } from '../../../deadletters/letter-commands.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import { checkedCategories, type CheckedCategory } from '../../../history/tasks/checked-letters.ts';
import { clusterSynced, type Asker, type DeadLetterAnswer } from '../../asks/router.ts';
import type { Clock } from '../../../ports/machine.ts';
import { SideRoom } from './side-room.ts';
import type { LetterCheckTask, SideAnswer, SideRunner } from './side-tasks.ts';

export type LetterChecksOptions = {
  readonly router: Pick<Asker, 'askDeadLetters' | 'askCluster'>;
  readonly queueNumberOf: (category: CheckedCategory) => number | undefined;
  readonly clock: Pick<Clock, 'monoMs'>;
};

const checking = { placesMax: 8, placesPerDestinationMax: 8 } as const;
const ATTEMPT_MS_MAX = 60_000;
const ASK_TIMEOUT_MS = 10_000;

export function letterCheckRunner(options: LetterChecksOptions): SideRunner<LetterCheckTask> {
  return {
    room: new SideRoom(() => checking),
    placeOf: ({ key: { namespaceId } }) => ({ destination: 'letters', namespaceId }),
    attemptMsMax: ATTEMPT_MS_MAX,
    attempt: (task) => check(task, options),
  };
}

async function check({ key, taskId }: LetterCheckTask, options: LetterChecksOptions): Promise<SideAnswer> {
  let isOpen = false;
  for (const category of checkedCategories(key)) isOpen ||= await mayHold(category, key, options);
  return { kind: 'done', command: { kind: 'letterChecked', taskId, isOpen } };
}

async function mayHold(category: CheckedCategory, key: RunKey, options: LetterChecksOptions): Promise<boolean> {
  const { queueNumberOf, router, clock } = options;
  // What this process has folded of the queues may lag behind.
  if (queueNumberOf(category) === undefined && !(await clusterSynced(router, clock))) return true;
  const queue = queueNumberOf(category);
  if (queue === undefined) return false;
  const found = await ask(queue, { kind: 'findLetters', condition: ofRun(key), afterMessageId: -1, max: 1 }, options);
  if (found.kind !== 'letterIds' || found.ids.length > 0) return true;
  // It may be among those that were purged, and come back yet: its run must not be gone then.
  const counted = await ask(queue, { kind: 'countLetters' }, options);
  return counted.kind !== 'counted' || counted.uncutPurges > 0;
}

function ask<Request extends DeadLetterRequest>(
  queue: number,
  request: Request,
  { router, clock }: LetterChecksOptions,
): Promise<DeadLetterAnswer<Request>> {
  return new Promise((resolve) => router.askDeadLetters(queue, request, ownWork(clock.monoMs() + ASK_TIMEOUT_MS), resolve));
}

function ofRun({ workflowId, runId }: RunKey) {
  const equals = (name: string, operand: string) =>
    ({ kind: 'compare', column: { name, kind: 'keyword' }, operator: '=', operand }) as const;
  return { kind: 'and', conditions: [equals('WorkflowId', workflowId), equals('RunId', runId)] } as const;
}
