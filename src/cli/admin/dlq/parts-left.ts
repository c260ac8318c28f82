/** Parts of a selection that have no job yet: how many letters they have, and how somebody goes on with them. */
import type { Job, Plan } from '../../../wire/generated/api/deadletter/service.ts';
import type { DlqKind } from './dlq-kind.ts';
import { queueText } from './queue-names.ts';

/** Begins the job of one part; undefined: nothing is left to do. `plan`: that of the part, where it may have to wait for others. */
export type Begin = { readonly begin: () => Promise<Job | undefined>; readonly plan?: Plan };

/** Message ids from the first to the last of plans that follow each other. */
export function boundsOf(plans: readonly Plan[]): { readonly from: number; readonly to: number } {
  return { from: plans[0]?.ids[0]?.from ?? 0, to: plans.at(-1)?.ids.at(-1)?.to ?? 0 };
}

/** `lines`: of each queue those that wait, in the order of their ids. */
export function lettersLeft(lines: readonly (readonly Begin[])[]): number {
  return lines.flat().reduce((sum, { plan }) => sum + (plan?.selected ?? 0), 0);
}

/** One line for each queue. The flags can be added to those that were given: of a flag that stands twice the last one counts. */
export function howToGoOn(kind: DlqKind, lines: readonly (readonly Begin[])[]): readonly string[] {
  return lines.flatMap((line) => {
    const plans = line.flatMap(({ plan }) => (plan === undefined ? [] : [plan]));
    const queue = plans[0]?.queue;
    if (queue === undefined) return [];
    const { from, to } = boundsOf(plans);
    const which = kind === 'admin dlq' ? `--dlq-type ${queue.category}` : `--cluster ${queue.sourceCluster}`;
    const flags = [...(lines.length > 1 ? [which] : []), `--min-message-id ${from}`, `--max-message-id ${to}`].join(' ');
    const number = lettersLeft([line]);
    const those = `${number} ${number === 1 ? 'dead letter' : 'dead letters'} of ${queueText(queue)}`;
    return [`Not begun: ${those}. To go on with them, repeat the command with these flags added: ${flags}`];
  });
}
