/** `perdure errors CODE`: what a code means, and what to do. It knows codes of calls, exit codes, and outcomes of dead letters. */
import { didYouMean, failure } from './cli-error.ts';
import type { ExitCode, Invocation } from './command.ts';
import { printList, printOne } from './printed-list.ts';

type Explained = { readonly code: string; readonly means: string; readonly next: string };

const explained: readonly Explained[] = (
  [
    [
      'NOT_FOUND',
      'The named queue, dead letter, job, plan, shard, cluster or namespace does not exist.',
      'perdure admin queue dlq list shows the queues. If a message was merged or purged, the error says so.',
    ],
    [
      'INVALID_ARGUMENT',
      'The request is invalid; nothing was changed.',
      'The error names the field and what was expected. Trying again without a change does not help.',
    ],
    [
      'PERMISSION_DENIED',
      'The caller is not allowed to do this.',
      'Log in as an administrator of the cluster: --api-key, TEMPORAL_API_KEY or a profile.',
    ],
    ['UNAUTHENTICATED', 'The API key was not accepted.', 'Check --api-key, TEMPORAL_API_KEY and the profile.'],
    ['INTERNAL', 'The server has a bug, or cannot read its data.', 'Look for the reason in its log, at the time of the call.'],
    ['RESOURCE_EXHAUSTED', 'A limit was reached, such as the rate of calls.', 'Try again later, or with less at a time.'],
    [
      'FAILED_PRECONDITION',
      'The current state does not allow it: another job works on the message, a plan has expired, a job has ended, or some tasks failed again.',
      'The error names the job or the plan; perdure admin queue dlq job describe JOB shows a job.',
    ],
    ['ALREADY_EXISTS', 'It already exists; nothing was changed.', 'Choose another name, or use what exists.'],
    [
      'UNAVAILABLE',
      'It is not served right now: a queue or a shard is being taken over, or the log does not answer. The command has tried for some seconds.',
      'Try again in a moment; perdure admin state shows what is served.',
    ],
    [
      'DEADLINE_EXCEEDED',
      'No answer came in time. The change may have been made.',
      'Check whether it was made before trying again; --command-timeout allows more time.',
    ],
    [
      'UNIMPLEMENTED',
      'This server does not support that.',
      'Compare the output of perdure version with the version of the server: perdure admin cluster describe.',
    ],
    ['CANCELLED', 'The client ended the call.', 'Try again.'],
    ['0', 'Done; after a merge or a purge no selected message is left.', 'There is nothing to do.'],
    ['1', 'Failed: something that was named does not exist, or the whole job failed.', 'The error says why.'],
    [
      '2',
      'Wrong flags or values, invalid configuration, or flags that name one task while several messages match.',
      'The error says what was expected.',
    ],
    [
      '3',
      'For a command: the job ended, and selected messages remain. For a server: another server serves its log.',
      'perdure admin queue dlq job describe JOB shows what failed and why.',
    ],
    ['4', 'No server answers there, or it does not serve.', 'Give the address of the gRPC port of a running server: --address HOST:PORT.'],
    ['5', 'Permission denied.', 'Log in as an administrator of the cluster.'],
    ['130', 'Interrupted. A job that the command waited for continues.', 'perdure admin queue dlq job watch JOB waits for it again.'],
    ['retries-exhausted', 'The task failed as often as tasks of its category are tried.', 'Fix the cause, then merge the message.'],
    ['permanent-error', 'The error is permanent: trying again does not help.', 'Fix what it names, then merge the message; or purge it.'],
    ['namespace-deleted', 'The namespace of the task is deleted.', 'Register it again, then merge the message; or purge it.'],
    [
      'OutcomeUnknown',
      'A merge did not learn in time whether its task was executed. It may have been.',
      'Wait: the queue asks the shard, and then resolves the message or keeps it with its error. Nothing is executed twice.',
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
      'Look at the failures of the job, then use job resume or job cancel.',
    ],
    [
      'being-merged',
      'Another job has asked for a merge of the message, and its outcome is not known yet.',
      'Purge the message again once the outcome is known.',
    ],
    [
      'being-executed',
      'The message was not purged, because an earlier merge may still execute its task. It stays in the queue.',
      'Purge it again later: once its shard reports the outcome of the task, the message is merged or purged.',
    ],
    [
      'undo-window-over',
      'The message was purged too long ago, or its topic has been compacted since: it can no longer be restored.',
      'Do by hand what its workflow needs. perdure.dlq.undoWindow says how long a purge can be undone.',
    ],
    [
      'its record is gone',
      'Somebody deleted the record of the message from the topic: its task is lost.',
      'Do what its workflow needs (reset, terminate or signal it), then purge the message.',
    ],
    ['undecodable', 'The task in the message cannot be read.', 'perdure admin queue dlq show has its bytes; a purge removes it.'],
    ['not-active', 'The namespace of the message is active in another cluster.', 'Merge it there, or after a failover.'],
  ] as const
).map(([code, means, next]) => ({ code, means, next }));

export async function runErrors(invocation: Invocation): Promise<ExitCode> {
  const [given] = invocation.args;
  if (given === undefined) {
    const forms = { json: (each: Explained) => each, titles: ['CODE', 'MEANS'], cells: ({ code, means }: Explained) => [code, means] };
    return printList(invocation, { ...forms, elastic: 1 }, explained);
  }
  const found = explained.find(({ code }) => sameCode(code) === sameCode(given));
  if (found === undefined) {
    const codes = explained.map(({ code }) => code);
    throw failure(`unknown code "${given}"`, { why: didYouMean(given.toUpperCase(), codes), next: 'perdure errors lists all codes.' });
  }
  return printOne(invocation, found, () => `${found.code}\n${found.means}\n${found.next}\n`);
}

/** `NotFound`, `not-found` and `NOT_FOUND` are the same code. */
function sameCode(code: string): string {
  return code.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}
