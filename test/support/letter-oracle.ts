/** Dead letters by condition, in plain JavaScript: what every database is compared with, and what the twin in memory answers by. */
import type { LetterGrouped, LetterIdPage, LetterList, LetterPage, LetterWalk } from '../../src/projections/database-port.ts';
import type { LetterGroup } from '../../src/deadletters/letter-commands.ts';
import type { LetterRow } from '../../src/deadletters/letter-records.ts';
import { utf8Bytes } from '../../src/kernel/utf8.ts';
import type { Column, Condition } from '../../src/filter/condition.ts';
import { truthAbout } from './condition-oracle.ts';

/** In the order of their ids. */
export function lettersThat(rows: Iterable<LetterRow>, condition: Condition | undefined): LetterRow[] {
  return [...rows].filter((row) => condition === undefined || isMet(condition, row)).sort((one, other) => one.messageId - other.messageId);
}

export function letterPage(rows: Iterable<LetterRow>, list: LetterList): LetterPage {
  const { condition, afterMessageId, max, bytesMax } = list;
  const behind = lettersThat(rows, condition).filter(({ messageId }) => messageId > afterMessageId);
  let bytes = 0;
  const beyond = behind.findIndex((row, index) => (bytes += letterBytes(row)) > bytesMax && index > 0);
  const letters = behind.slice(0, Math.min(max, beyond < 0 ? max : beyond));
  return { letters, isLast: letters.length === behind.length && letters.length < max };
}

export function letterIdPage(rows: Iterable<LetterRow>, { condition, afterMessageId, max }: LetterWalk): LetterIdPage {
  const behind = lettersThat(rows, condition).filter(({ messageId }) => messageId > afterMessageId);
  const ids = behind.slice(0, max).map(({ messageId, generation }) => ({ messageId, generation }));
  return { ids, isLast: ids.length < max };
}

export function letterGroups(rows: Iterable<LetterRow>, { condition, by, max }: LetterGrouped): readonly LetterGroup[] {
  return Array.from(
    Map.groupBy(lettersThat(rows, condition), (row) => row[by]),
    ([key, letters]) => {
      const times = letters.map(({ deadLetterTimeMs }) => deadLetterTimeMs);
      const [
        { messageId: lowestId, errorType, errorMessage, taskType } = { messageId: -1, errorType: '', errorMessage: '', taskType: '' },
      ] = letters;
      return {
        key,
        count: letters.length,
        lowestId,
        oldestMs: Math.min(...times),
        newestMs: Math.max(...times),
        errorType,
        errorMessage,
        taskType,
      };
    },
  )
    .sort((one, other) => other.count - one.count || one.lowestId - other.lowestId)
    .slice(0, max);
}

function letterBytes(row: LetterRow): number {
  return Object.values(row).reduce<number>((bytes, value) => bytes + (typeof value === 'string' ? utf8Bytes(value) : 0), 0);
}

function isMet(condition: Condition, row: LetterRow): boolean {
  return truthAbout(condition, { valueOf: (column) => unlessUnknown(fields[column.name]?.(row), column), asked: (text) => text }) === true;
}

function unlessUnknown<Value>(value: Value | undefined, { name }: Column): Value | undefined {
  if (!(name in fields)) throw new Error(`a letter has no ${name}`);
  return value === '' ? undefined : value;
}

const fields: Readonly<Record<string, (row: LetterRow) => string | number | bigint | undefined>> = {
  MessageId: ({ messageId }) => messageId,
  TaskId: ({ taskId }) => taskId,
  TaskType: ({ taskType }) => taskType,
  ShardId: ({ shardId }) => shardId,
  Namespace: ({ namespace }) => namespace,
  WorkflowId: ({ workflowId }) => workflowId,
  WorkflowType: ({ workflowType }) => workflowType,
  RunId: ({ runId }) => runId,
  Cause: ({ cause }) => cause,
  Disposition: ({ disposition }) => disposition,
  ErrorType: ({ errorType }) => errorType,
  ErrorMessage: ({ errorMessage }) => errorMessage,
  Fingerprint: ({ fingerprint }) => fingerprint,
  Attempts: ({ attempts }) => attempts,
  Generation: ({ generation }) => generation,
  State: ({ state }) => state,
  DeadLetterTime: ({ deadLetterTimeMs }) => deadLetterTimeMs,
  FirstFailureTime: ({ firstFailureTimeMs }) => firstFailureTimeMs,
  SourceCluster: ({ sourceCluster }) => sourceCluster,
  Build: ({ build }) => build,
};
