/** `perdure errors CODE`: what an error says, and what to do. Of codes of calls, of exit codes, and of what becomes of dead letters. */
import { suggest } from '../config/suggest.ts';
import { failure } from './cli-error.ts';
import type { Invocation } from './command.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { listFormat } from './output.ts';
import { printList, printOne } from './printed-list.ts';

type Explained = { readonly code: string; readonly means: string; readonly next: string };

const explained: readonly Explained[] = [
  ...([
    [
      'NOT_FOUND',
      'The named queue, dead letter, job, plan, shard, cluster or namespace does not exist.',
      'perdure admin queue dlq list shows the queues. For a message that was merged or purged the text says so.',
    ],
    [
      'INVALID_ARGUMENT',
      'The request is invalid; nothing was changed.',
      'The text names the field and what was expected. Retrying without a change does not help.',
    ],
    [
      'PERMISSION_DENIED',
      'The caller is not allowed to do this.',
      'Log in as an administrator of the cluster: --api-key, TEMPORAL_API_KEY or a profile.',
    ],
    ['UNAUTHENTICATED', 'The key was not accepted.', 'Look at --api-key, TEMPORAL_API_KEY and the profile.'],
    ['INTERNAL', 'A bug of the server, or data that it cannot read.', 'Its log has the reason at that time.'],
    ['RESOURCE_EXHAUSTED', 'A limit of the server: the rate of calls, or the size of a request.', 'Ask later, or for less at a time.'],
    [
      'FAILED_PRECONDITION',
      'What is there forbids it: another job holds the message, a plan has expired, a job has ended, some of the tasks failed again.',
      'The text names the job or the plan: perdure admin queue dlq job describe JOB.',
    ],
    ['ALREADY_EXISTS', 'It is there already.', 'Nothing was changed.'],
    [
      'UNAVAILABLE',
      'Nobody serves that now: a queue or a shard is being taken over, or the log is away. Commands try again for some seconds.',
      'Ask again in a moment; perdure admin state shows what is served.',
    ],
    [
      'DEADLINE_EXCEEDED',
      'No answer came in time. What was to be changed may have been changed.',
      'Look before asking again; --command-timeout gives it longer.',
    ],
    [
      'UNIMPLEMENTED',
      'This server does not have that.',
      'Compare perdure version with the version of the server: perdure admin cluster describe.',
    ],
    ['CANCELLED', 'The call was ended by its client.', 'Ask again.'],
  ] as const),
  ...([
    ['0', 'Done; after a merge or a purge no selected message is left.', 'Nothing.'],
    ['1', 'Failed: something that was named does not exist, or the whole job failed.', 'The text says why.'],
    [
      '2',
      'Wrong flags or values, bad configuration, or one task was named and several messages match.',
      'The text says what was expected.',
    ],
    [
      '3',
      'Of a command: the job ended, and selected messages remain. Of a server: another server serves its log.',
      'perdure admin queue dlq job describe JOB shows what failed and why.',
    ],
    ['4', 'No server answers there, or it does not serve.', 'Name the gRPC port of a running server: --address HOST:PORT.'],
    ['5', 'Permission denied.', 'Log in as an administrator of the cluster.'],
    ['130', 'Interrupted. A job that was waited for goes on.', 'perdure admin queue dlq job watch JOB waits again.'],
  ] as const),
  ...([
    ['retries-exhausted', 'The task failed as often as tasks of its category may.', 'Fix the cause, then merge the message.'],
    ['permanent-error', 'The error of the task cannot go away by trying again.', 'Fix what it names, then merge; or purge.'],
    ['namespace-deleted', 'The namespace that the task acts on is deleted.', 'Register one of that name and merge, or purge.'],
    [
      'OutcomeUnknown',
      'A merged task was not confirmed in time. It may have had its effect.',
      'Wait: the queue asks the shard by itself, and then resolves the message or keeps it with its error. Nothing is executed twice.',
    ],
    ['UnknownCategory', 'This server cannot execute tasks of that category.', 'Merge it with a server that can, or purge it.'],
    [
      'loop-guard',
      'The message failed in too many merges and is quarantined.',
      'Fix the cause, then merge with --override-loop-guard and --reason.',
    ],
    [
      'failure-budget',
      'More messages failed than --max-failures allows: the job is paused.',
      'Look at its failures; then job resume, or job cancel.',
    ],
    [
      'being-merged',
      'Another job has asked for a merge of the message, and its outcome is not known yet.',
      'Purge it again once that is known.',
    ],
    [
      'being-executed',
      'The message was to be purged, and an earlier merge may still execute its task. It stays in the queue.',
      'Purge it again later: once its shard says what came of the task, the message is merged or purged.',
    ],
    [
      'undo-window-over',
      'The message was purged too long ago, or in a topic that was cut since: nothing of it is left to restore.',
      'Do what its workflow needs by hand. perdure.dlq.undoWindow is how long a purge can be undone.',
    ],
    [
      'its record is gone',
      'Somebody deleted the record of the message from the topic: its task is lost.',
      'Do what its workflow needs (reset, terminate or signal it), then purge the message.',
    ],
    ['undecodable', 'The task in the message cannot be read.', 'perdure admin queue dlq show has its bytes; a purge removes it.'],
    ['not-active', 'The namespace of the message is active in another cluster.', 'Merge it there, or after a failover.'],
  ] as const),
].map(([code, means, next]) => ({ code, means, next }));

export async function runErrors({ flags, args, io }: Invocation): Promise<ExitCode> {
  const format = listFormat(flags.one('output'), 'text');
  const [given] = args;
  if (given === undefined) {
    await printList(
      io,
      format,
      { json: (each) => each, titles: ['CODE', 'MEANS'], cells: ({ code, means }) => [code, means], elastic: 1 },
      explained,
    );
    return exitCodes.done;
  }
  const found = explained.find(({ code }) => sameCode(code) === sameCode(given));
  if (found === undefined) {
    const meant = suggest(
      given.toUpperCase(),
      explained.map(({ code }) => code),
    );
    throw failure(`nothing is known of the code "${given}"`, {
      why: meant === undefined ? undefined : `Did you mean ${meant}?`,
      next: 'perdure errors lists those that there are.',
    });
  }
  printOne(
    io,
    format,
    () => found,
    () => `${found.code}\n${found.means}\n${found.next}\n`,
  );
  return exitCodes.done;
}

/** `NotFound`, `not-found` and `NOT_FOUND` are one. */
function sameCode(code: string): string {
  return code.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}
