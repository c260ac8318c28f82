/** `… dlq show`: one dead letter, with its task, its errors and its history. */
import type { GetDeadLetterResponse } from '../../../wire/generated/api/deadletter/service.ts';
import { failure, usageError } from '../../cli-error.ts';
import type { ExitCode, Invocation } from '../../command.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { fieldLines } from '../../printed-fields.ts';
import { printOne } from '../../printed-list.ts';
import { rfc3339 } from '../../printed-time.ts';
import { jsonText, plainText } from '../../plain-text.ts';
import { letterJson, letterText, payloadJson } from './letter-forms.ts';
import { whyNoneFits } from './named-letter.ts';
import { selected } from './selected.ts';
import { calls, type DlqKind } from './service.ts';

export async function runShow(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  if (flags.all('message-id').length + flags.all('task-id').length !== 1) {
    throw usageError('show needs one dead letter', { next: `For example: perdure ${kind} show … --message-id 41` });
  }
  const found = await withServer(invocation, (client) => letterOf(kind, invocation, client));
  return printOne(invocation, shownJson(kind, found), () => shownText(kind, found));
}

/** The dead letter that the flags name; if two queues may have the id, it is looked for in both. */
async function letterOf(kind: DlqKind, { flags }: Invocation, client: GrpcClient): Promise<GetDeadLetterResponse> {
  const wanted = await selected(kind, flags, client);
  const { queues, selection } = wanted;
  const [queue, ...others] = queues;
  if (queue === undefined) throw usageError('there is no such queue', { next: `perdure ${kind} list shows all queues.` });
  const [messageId] = selection.messageIds;
  if (others.length === 0 && messageId !== undefined && selection.shardId === 0)
    return client.call(calls.GetDeadLetter, { queue, messageId });
  const request = { queues, selection, pageSize: 1, nextPageToken: new Uint8Array(0), withPayload: false };
  const [letter] = (await client.call(calls.ListDeadLetters, request)).letters;
  if (letter === undefined) throw (await whyNoneFits(flags, wanted, client)) ?? failure('NOT_FOUND: there is no such dead letter');
  return client.call(calls.GetDeadLetter, { queue: letter.queue, messageId: letter.messageId });
}

function shownJson(kind: DlqKind, { letter, errorStack, errorChain, history, jobId, headers }: GetDeadLetterResponse): object {
  const fields = letter === undefined ? {} : letterJson(kind, letter, { isLong: true, withPayload: true });
  const events = history.map(({ timeMs, kind, errorType, jobId }) => ({ time: rfc3339(timeMs), kind, errorType, jobId }));
  const more = { node: letter?.node ?? '', build: letter?.build ?? '', errorStack, errorChain, history: events, jobId };
  return { ...fields, ...more, headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])) };
}

function shownText(kind: DlqKind, found: GetDeadLetterResponse): string {
  const { letter, errorStack, errorChain, history, jobId, headers } = found;
  if (letter === undefined) return '';
  const { node, build, damage } = letter;
  const fields = { ...letterJson(kind, letter, { isLong: true, withPayload: false }), node, build, jobId, damage };
  const parts = [
    [letterText(letter), ...fieldLines(fields, '  ')],
    lines(
      'Errors',
      errorChain.map(({ errorType, errorMessage }) => plainText(`${errorType}: ${errorMessage}`)),
    ),
    lines('Stack', errorStack.split('\n').map(plainText)),
    lines(
      'History',
      history.map(({ timeMs, kind, errorType, jobId }) => plainText(`${rfc3339(timeMs)} ${kind} ${errorType} ${jobId}`)),
    ),
    // For a readable record the headers say nothing new.
    lines('Headers', damage === '' ? [] : headers.map(({ name, value }) => plainText(`${name}: ${value}`))),
    lines('Task', letter.payload === undefined ? [] : jsonText(payloadJson(letter.payload), 2).split('\n')),
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n')}\n`;
}

function lines(title: string, texts: readonly string[]): readonly string[] {
  const given = texts.filter((text) => text !== '');
  return given.length === 0 ? [] : [title, ...given.map((text) => `  ${text}`)];
}
