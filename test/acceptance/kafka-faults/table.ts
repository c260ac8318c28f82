import type { RowReport } from './row.ts';

/** Markdown. */
export function tableOf(reports: readonly RowReport[]): string {
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  const lines = reports.map(({ row, did, outcome, replays, workflows, violations }) => {
    const figures =
      typeof outcome === 'string'
        ? [outcome, '–', '–']
        : [seconds(outcome.againMs), seconds(outcome.longestWaitMs), `${outcome.callsAnswered} / ${outcome.callsUnanswered}`];
    return `| ${[row, did, ...figures, replays, workflows, violations.length].join(' | ')} |`;
  });
  return [
    '| row | what was done | serves again after (s) | longest wait (s) | calls answered / not | replays | workflows | violations |',
    '|---|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
