/** Questions before dead letters are changed. Without a terminal the command line is the answer. */
import type { Plan, Selection } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { Invocation } from '../../command.ts';
import type { ListFormat } from '../../output.ts';
import { queueText } from './queue-names.ts';
import { isOfAll } from './selected.ts';

/** PERDURE_CONFIRM=always: whatever purges is to have been confirmed by somebody. (Who applies a plan has looked at it.) */
export function checkMayRun(operation: 'merge' | 'purge', invocation: Invocation, format: ListFormat): void {
  const { flags, io } = invocation;
  if (operation !== 'purge' || flags.switched('yes') === true || io.env['PERDURE_CONFIRM'] !== 'always') return;
  if (canAsk(invocation, format)) return;
  throw usageError('a purge needs --yes here', { why: 'PERDURE_CONFIRM is always, and nobody can be asked.' });
}

/** False: nothing is to be changed. */
export async function confirmed(
  operation: 'merge' | 'purge',
  selection: Selection,
  plans: readonly Plan[],
  invocation: Invocation,
  format: ListFormat,
): Promise<boolean> {
  const { flags, io } = invocation;
  const isAll = isOfAll(selection);
  if (flags.switched('yes') === true || !canAsk(invocation, format) || (operation === 'merge' && !isAll)) return true;
  const number = plans.reduce((sum, { selected }) => sum + selected, 0);
  const where = plans.map(({ queue, selected }) => `${selected} of ${queueText(queue)}`).join(', ');
  const letters = `${number} ${number === 1 ? 'dead letter' : 'dead letters'} (${where})`;
  const mustType = operation === 'purge' && isAll;
  const question = mustType
    ? `All dead letters are purged, and cannot be merged any more: ${letters}.\nType their number to go on: `
    : `${operation === 'merge' ? 'Merge all: ' : 'Purge '}${letters}? [y/N] `;
  const answer = ((await io.terminal.ask(question)) ?? '').trim().toLowerCase();
  const isYes = mustType ? answer === String(number) : answer === 'y' || answer === 'yes';
  if (!isYes) io.err('perdure: nothing was changed\n');
  return isYes;
}

function canAsk({ io }: Invocation, format: ListFormat): boolean {
  return io.terminal.answers && format !== 'json' && format !== 'jsonl';
}
