import { emptyCounts, type Plan } from '../../../wire/generated/api/deadletter/service.ts';
import type { ExitCode } from '../../command.ts';
import { printOne, type Printing } from '../../printed-list.ts';
import { rfc3339 } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import { table } from '../../table.ts';
import type { DlqKind } from './service.ts';
import { participles } from './operation.ts';
import { deadLetters, queueText } from './queue-names.ts';
import { totalsJson } from './totals.ts';

export function printPlans(kind: DlqKind, operation: 'merge' | 'purge', plans: readonly Plan[], to: Printing): ExitCode {
  const selected = plans.reduce((sum, plan) => sum + plan.selected, 0);
  return printOne(
    to,
    {
      planned: true,
      planIds: plans.map(({ planId }) => planId),
      planHashes: plans.map(({ hash }) => hash),
      ...totalsJson(operation, [], { ...emptyCounts(), selected, remaining: selected }),
      causes: plans.flatMap(({ queue, causes }) => causes.map((each) => ({ queue: queueText(queue), ...each }))),
      ids: plans.map(({ ids }) => ids.map(({ from, to }) => [from, to])),
      expireTime: rfc3339(plans[0]?.expireTimeMs ?? 0),
    },
    () => (plans.length === 0 ? 'no dead letter is selected\n' : plans.map((plan) => planText(kind, operation, plan)).join('\n')),
  );
}

function planText(kind: DlqKind, operation: 'merge' | 'purge', { planId, queue, selected, causes, expireTimeMs }: Plan): string {
  const letters = `${deadLetters(selected)} of ${queueText(queue)} would be ${participles[operation]}`;
  const rows = causes.map(({ cause, errorType, count }) => [String(count), plainText(cause) || '-', plainText(errorType) || '-']);
  const how = `Until ${rfc3339(expireTimeMs)}: perdure ${kind} apply ${planId}`;
  return `${[letters, table(['COUNT', 'CAUSE', 'ERROR'], rows), how].filter((part) => part !== '').join('\n')}\n`;
}
