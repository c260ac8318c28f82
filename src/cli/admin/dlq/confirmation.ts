/** Questions before dead letters are changed. Without a terminal there are none. */
import type { Plan, Selection } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { Invocation } from '../../command.ts';
import { deadLetters, queueText } from './queue-names.ts';
import { isOfAll } from './selected.ts';

/** With PERDURE_CONFIRM=always every purge must be confirmed by a person. (Applying a plan counts as confirmed, because its author has seen it.) */
export function checkMayRun(operation: 'merge' | 'purge', invocation: Invocation): void {
  const { flags, io } = invocation;
  if (operation !== 'purge' || flags.switched('yes') === true || io.env['PERDURE_CONFIRM'] !== 'always') return;
  if (canAsk(invocation)) return;
  throw usageError('a purge needs --yes here', { why: 'PERDURE_CONFIRM is set to always, and there is no terminal to ask on.' });
}

export async function confirmed(
  operation: 'merge' | 'purge',
  selection: Selection,
  plans: readonly Plan[],
  invocation: Invocation,
): Promise<boolean> {
  const { flags, io } = invocation;
  const isAll = isOfAll(selection);
  if (flags.switched('yes') === true || !canAsk(invocation) || (operation === 'merge' && !isAll)) return true;
  const number = plans.reduce((sum, { selected }) => sum + selected, 0);
  const where = plans.map(({ queue, selected }) => `${selected} of ${queueText(queue)}`).join(', ');
  const letters = `${deadLetters(number)} (${where})`;
  const mustType = operation === 'purge' && isAll;
  const question = mustType
    ? `This purges all dead letters; they can then no longer be merged: ${letters}.\nType their number to continue: `
    : `${operation === 'merge' ? 'Merge all: ' : 'Purge '}${letters}? [y/N] `;
  const answer = ((await io.terminal.ask(question)) ?? '').trim().toLowerCase();
  const isYes = mustType ? answer === String(number) : answer === 'y' || answer === 'yes';
  if (!isYes) io.err('perdure: nothing was changed\n');
  return isYes;
}

function canAsk({ io, format }: Invocation): boolean {
  return io.terminal.answers && format !== 'json' && format !== 'jsonl';
}
