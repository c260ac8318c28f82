/** Parts of a selection that have no job yet: how many messages they have, and how to continue with them. */
import type { Job, Plan } from '../../../wire/generated/api/deadletter/service.ts';
import type { DlqKind } from './service.ts';
import { deadLetters, queueText } from './queue-names.ts';

/** `begin` starts the job of one part; undefined means that nothing is left to do. `plan` is set if the part may have to wait for others. */
export type Begin = { readonly begin: () => Promise<Job | undefined>; readonly plan?: Plan };

export function boundsOf(plans: readonly Plan[]): { readonly from: number; readonly to: number } {
  return { from: plans[0]?.ids[0]?.from ?? 0, to: plans.at(-1)?.ids.at(-1)?.to ?? 0 };
}

export function lettersLeft(lines: readonly (readonly Begin[])[]): number {
  return lines.flat().reduce((sum, { plan }) => sum + (plan?.selected ?? 0), 0);
}

/** One line for each queue. Its flags can be added to the original command, because the last of two equal flags counts. */
export function howToGoOn(kind: DlqKind, lines: readonly (readonly Begin[])[]): readonly string[] {
  return lines.flatMap((line) => {
    const plans = line.flatMap(({ plan }) => (plan === undefined ? [] : [plan]));
    const queue = plans[0]?.queue;
    if (queue === undefined) return [];
    const { from, to } = boundsOf(plans);
    const which = kind === 'admin dlq' ? `--dlq-type ${queue.category}` : `--cluster ${queue.sourceCluster}`;
    const flags = [...(lines.length > 1 ? [which] : []), `--min-message-id ${from}`, `--max-message-id ${to}`].join(' ');
    const those = `${deadLetters(lettersLeft([line]))} of ${queueText(queue)}`;
    return [`Not started: ${those}. To continue with them, repeat the command with these additional flags: ${flags}`];
  });
}
