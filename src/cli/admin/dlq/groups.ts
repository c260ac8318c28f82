/** `… dlq groups`: dead letters grouped by a field, largest group first. */
import type { LetterGroup } from '../../../wire/generated/api/deadletter/service.ts';
import type { ExitCode, Invocation } from '../../command.ts';
import { withServer } from '../../grpc-client.ts';
import { printList } from '../../printed-list.ts';
import { rfc3339, timeFormat, type TimeFormat } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import { shortTaskType } from './letter-forms.ts';
import { tellOfOwnLetters } from './queues.ts';
import { count } from './read.ts';
import { selected } from './selected.ts';
import { calls, type DlqKind } from './service.ts';

export async function runGroups(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const time = timeFormat(flags);
  const by = flags.one('by') ?? 'fingerprint';
  const maxGroups = Math.min(count(flags, 'limit', 0), 100);
  const groups = await withServer(invocation, async (client) => {
    const { queues, selection } = await selected(kind, flags, client);
    const found = queues.length === 0 ? [] : (await client.call(calls.GroupDeadLetters, { queues, selection, by, maxGroups })).groups;
    if (found.length === 0) await tellOfOwnLetters(kind, invocation, client);
    return found;
  });
  // All dead letters with the same fingerprint have the same task type.
  const withType = by === 'fingerprint';
  const grouping = by.toUpperCase().replace('-', ' ');
  const titles = [grouping, 'COUNT', 'LOWEST ID', 'OLDEST', 'NEWEST', ...(withType ? ['TASK TYPE'] : []), 'ERROR'];
  const forms = { json: groupJson, titles, cells: (group: LetterGroup) => cells(group, withType, time), elastic: titles.length - 1 };
  return printList(invocation, forms, groups);
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
