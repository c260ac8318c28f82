/** A plan as it is printed: what would be done, of which causes, and how it is done. */
import type { Plan } from '../../../wire/generated/api/deadletter/service.ts';
import type { FlagValues } from '../../command.ts';
import { exitCodes, type ExitCode } from '../../exit-codes.ts';
import type { Io } from '../../io.ts';
import type { ListFormat } from '../../output.ts';
import { printOne } from '../../printed-list.ts';
import { rfc3339 } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import { table } from '../../table.ts';
import type { DlqKind } from './dlq-kind.ts';
import { participles } from './operation.ts';
import { queueText } from './queue-names.ts';
import { noLetters, totalsJson } from './totals.ts';

type To = { readonly io: Io; readonly flags: FlagValues; readonly format: ListFormat };

export function printPlans(kind: DlqKind, operation: 'merge' | 'purge', plans: readonly Plan[], { io, format }: To): ExitCode {
  const selected = plans.reduce((sum, plan) => sum + plan.selected, 0);
  printOne(
    io,
    format,
    () => ({
      planned: true,
      planIds: plans.map(({ planId }) => planId),
      planHashes: plans.map(({ hash }) => hash),
      ...totalsJson(operation, [], { ...noLetters, selected, remaining: selected }),
      causes: plans.flatMap(({ queue, causes }) => causes.map((each) => ({ queue: queueText(queue), ...each }))),
      ids: plans.map(({ ids }) => ids.map(({ from, to }) => [from, to])),
      expireTime: rfc3339(plans[0]?.expireTimeMs ?? 0),
    }),
    () => (plans.length === 0 ? 'no dead letter is selected\n' : plans.map((plan) => planText(kind, operation, plan)).join('\n')),
  );
  return exitCodes.done;
}

function planText(kind: DlqKind, operation: 'merge' | 'purge', { planId, queue, selected, causes, expireTimeMs }: Plan): string {
  const letters = `${selected} ${selected === 1 ? 'dead letter' : 'dead letters'} of ${queueText(queue)} would be ${participles[operation]}`;
  const rows = causes.map(({ cause, errorType, count }) => [String(count), plainText(cause) || '-', plainText(errorType) || '-']);
  const how = `Until ${rfc3339(expireTimeMs)}: perdure ${kind} apply ${planId}`;
  return `${[letters, table(['COUNT', 'CAUSE', 'ERROR'], rows), how].filter((part) => part !== '').join('\n')}\n`;
}
