import { unreachable } from '../../../kernel/assert.ts';
import type { Counts, Job } from '../../../wire/generated/api/deadletter/service.ts';
import { exitCodes, type ExitCode } from '../../command.ts';
import { printOne, type Printing } from '../../printed-list.ts';
import { plainText } from '../../plain-text.ts';
import type { DlqKind } from './service.ts';
import { digits } from './letter-forms.ts';
import type { OperationName } from './operation.ts';
import { queueText } from './queue-names.ts';

const failuresShownMax = 20;

/** `left` counts the messages of parts that have no job. */
export type Work = { readonly jobs: readonly Job[]; readonly left: number };

export const noWork: Work = { jobs: [], left: 0 };

export function countsOf({ jobs, left }: Work): Counts {
  const sum = (key: keyof Counts): number => jobs.reduce((total, { counts }) => total + (counts?.[key] ?? 0), 0);
  return {
    selected: sum('selected') + left,
    merged: sum('merged'),
    purged: sum('purged'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    gone: sum('gone'),
    notTried: sum('notTried') + left,
    remaining: sum('remaining') + left,
    mergedNoop: sum('mergedNoop'),
    restored: sum('restored'),
  };
}

export function printTotals(kind: DlqKind, operation: OperationName, work: Work, to: Printing): ExitCode {
  const counts = countsOf(work);
  const { jobs } = work;
  printOne(to, totalsJson(operation, jobs, counts), () => totalsText(operation, jobs, counts));
  for (const job of jobs) {
    const trouble = troubleOf(kind, job);
    if (trouble !== undefined) to.io.err(`perdure: ${trouble}\n`);
  }
  if (jobs.some(({ state }) => state === 'failed')) return exitCodes.failed;
  return counts.remaining > 0 ? exitCodes.partlyDone : exitCodes.done;
}

function troubleOf(kind: DlqKind, { jobId, state, stateReason }: Job): string | undefined {
  const reason = stateReason === '' ? '' : `: ${plainText(stateReason)}`;
  switch (state) {
    case 'failed':
      return `job ${jobId} failed${reason}`;
    case 'cancelled':
      return `job ${jobId} was cancelled${reason}`;
    case 'paused':
      return `job ${jobId} is paused${reason}\nResume it with: perdure ${kind} job resume ${jobId}`;
    default:
      return undefined;
  }
}

export function totalsJson(operation: OperationName, jobs: readonly Job[], counts: Counts): object {
  const { selected, merged, mergedNoop, purged, failed, skipped, gone, notTried, remaining, restored } = counts;
  return {
    jobIds: jobs.map(({ jobId }) => jobId),
    operation,
    ...{ selected, merged, purged, failed, skipped, gone, notTried, remaining },
    ...(operation === 'restore' ? { restored } : {}),
    ...(operation === 'merge' ? { mergedNoop } : {}),
    failures: jobs.flatMap(({ queue, failures }) =>
      failures.map((failure) => ({ queue: queueText(queue), ...failure, taskId: digits(failure.taskId) })),
    ),
    skips: jobs.flatMap(({ queue, skips }) => skips.map((skip) => ({ queue: queueText(queue), ...skip }))),
    ...(operation === 'merge'
      ? { noops: jobs.flatMap(({ queue, noops }) => noops.map((noop) => ({ queue: queueText(queue), ...noop }))) }
      : {}),
  };
}

function totalsText(operation: OperationName, jobs: readonly Job[], counts: Counts): string {
  const { merged, mergedNoop, failed, skipped, gone, notTried, remaining } = counts;
  const more = [
    mergedNoop === 0 ? '' : `merged with nothing left to do ${mergedNoop}`,
    operation !== 'purge' || merged === 0 ? '' : `merged ${merged}: an earlier merge had already executed them`,
    gone === 0 ? '' : `gone ${gone}: ${operation === 'restore' ? 'already in the queue' : 'meanwhile merged or purged by others'}`,
    notTried === 0 ? '' : `not tried ${notTried}`,
    remaining === 0 ? '' : `remaining ${remaining}`,
  ];
  const details = jobs.flatMap(detailLines);
  const shown = details.slice(0, failuresShownMax);
  const hidden = failed + skipped + mergedNoop - shown.length;
  const rest = details.length > 0 && hidden > 0 ? [`  … and ${hidden} more`] : [];
  return `${[doneText(operation, counts), ...more.filter((line) => line !== ''), ...shown, ...rest].join('\n')}\n`;
}

export function doneText(operation: OperationName, { merged, purged, restored, failed, skipped }: Counts): string {
  const unfinished = failed + skipped === 0 ? '' : `, failed ${failed}, skipped ${skipped}`;
  switch (operation) {
    case 'merge':
      return `merged ${merged}, failed ${failed}, skipped ${skipped}`;
    case 'purge':
      return `purged ${purged}${unfinished}`;
    case 'restore':
      return `restored ${restored}${unfinished}`;
    default:
      return unreachable(operation);
  }
}

function detailLines({ queue, failures, skips, noops }: Job): readonly string[] {
  return [
    ...failures.map(({ messageId, taskId, taskType, errorType, errorMessage, sameCause }) => {
      const error = [errorType, errorMessage].filter((part) => part !== '').join(': ');
      const task = [taskId === '' ? '' : `task ${taskId}`, taskType].filter((part) => part !== '').join(' ');
      return `  message ${messageId} of ${queueText(queue)}  ${plainText(task)}  ${plainText(error)}${sameCause ? ' (as before)' : ''}`;
    }),
    ...skips.map(({ messageId, reason }) => `  message ${messageId} of ${queueText(queue)}  skipped: ${plainText(reason)}`),
    ...noops.map(({ messageId, reason }) => `  message ${messageId} of ${queueText(queue)}  nothing left to do: ${plainText(reason)}`),
  ];
}
