/** `… dlq groups`: letters that have something in common, most letters first. */
import type { LetterGroup } from '../../../wire/generated/api/deadletter/service.ts';
import { suggest } from '../../../config/suggest.ts';
import { usageError } from '../../cli-error.ts';
import type { Invocation } from '../../command.ts';
import { exitCodes, type ExitCode } from '../../exit-codes.ts';
import { withServer } from '../../grpc-client.ts';
import { listFormat } from '../../output.ts';
import { printList } from '../../printed-list.ts';
import { rfc3339, timeFormat, type TimeFormat } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import type { DlqKind } from './dlq-kind.ts';
import { shortTaskType } from './letter-forms.ts';
import { tellOfOwnLetters } from './queues.ts';
import { count } from './read.ts';
import { selected } from './selected.ts';
import { groupDeadLetters } from './service.ts';

const groupings = [
  'fingerprint',
  'cause',
  'disposition',
  'error-type',
  'task-type',
  'namespace',
  'workflow-type',
  'node',
  'build',
  'source-cluster',
];

export async function runGroups(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags, io } = invocation;
  const format = listFormat(flags.one('output'), 'text');
  const time = timeFormat(flags);
  const by = grouping(flags.one('by') ?? 'fingerprint');
  const maxGroups = Math.min(count(flags, 'limit', 0), 100);
  const groups = await withServer(invocation, async (client) => {
    const { queues, selection } = await selected(kind, flags, client);
    const found = queues.length === 0 ? [] : (await client.call(groupDeadLetters, { queues, selection, by, maxGroups })).groups;
    if (found.length === 0) await tellOfOwnLetters(kind, invocation, client);
    return found;
  });
  // Those of one fingerprint are of one type.
  const withType = by === 'fingerprint';
  const titles = [
    by.toUpperCase().replace('-', ' '),
    'COUNT',
    'LOWEST ID',
    'OLDEST',
    'NEWEST',
    ...(withType ? ['TASK TYPE'] : []),
    'ERROR',
  ];
  await printList(
    io,
    format,
    { json: groupJson, titles, cells: (group) => cells(group, withType, time), elastic: titles.length - 1 },
    groups,
  );
  return exitCodes.done;
}

function grouping(given: string): string {
  if (groupings.includes(given)) return given;
  const meant = suggest(given, groupings);
  throw usageError(`--by: expected one of ${groupings.join(', ')}, got "${given}"`, {
    why: meant === undefined ? undefined : `Did you mean ${meant}?`,
  });
}

function cells(group: LetterGroup, withType: boolean, time: TimeFormat) {
  const { key, count, lowestMessageId, oldestTimeMs, newestTimeMs, errorType, errorMessage, taskType } = group;
  const error = [errorType, errorMessage].filter((part) => part !== '').join(': ');
  const numbers = [String(count), String(lowestMessageId), time(oldestTimeMs), time(newestTimeMs)];
  return [plainText(key) || '-', ...numbers, ...(withType ? [shortTaskType(taskType)] : []), plainText(error) || '-'];
}

function groupJson({ key, count, lowestMessageId, oldestTimeMs, newestTimeMs, taskType, errorType, errorMessage }: LetterGroup): object {
  const times = { oldestTime: rfc3339(oldestTimeMs), newestTime: rfc3339(newestTimeMs) };
  return { key, count, lowestMessageId, ...times, taskType, errorType, errorMessage };
}
