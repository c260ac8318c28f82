/**
 * `… dlq merge`, `purge`, `plan` and `apply`.
 *
 *     selection ── count ──▶ plans, one for each queue that has letters ── question ──▶ jobs ── wait ──▶ totals
 *                    │ none    or several, of its parts    │ --dry-run, plan             │ --no-wait
 *                    ▼                                     ▼                             ▼
 *                  done                                  printed                       their ids
 */
import { randomUUID } from 'node:crypto';
import type { Plan, QueueName, Selection } from '../../../wire/generated/api/deadletter/service.ts';
import type { Invocation } from '../../command.ts';
import { exitCodes, type ExitCode } from '../../exit-codes.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { listFormat } from '../../output.ts';
import { applied } from './applied.ts';
import { jobOptionsOf, reasonOf } from './change-options.ts';
import { checkMayRun, confirmed } from './confirmation.ts';
import type { DlqKind } from './dlq-kind.ts';
import { carriedOut } from './job-wait.ts';
import { namedInQueues, whyNoneFits } from './named-letter.ts';
import { operationNumbers } from './operation.ts';
import { printPlans } from './plan-forms.ts';
import { beginsPart, plannedInParts, type Part } from './plans-in-parts.ts';
import { tellOfOwnLetters } from './queues.ts';
import { selected, type Selected } from './selected.ts';
import { countDeadLetters } from './service.ts';
import { noWork, printTotals } from './totals.ts';

type Change = 'merge' | 'purge';

export async function runChange(kind: DlqKind, operation: Change, invocation: Invocation): Promise<ExitCode> {
  const { flags, io } = invocation;
  const format = listFormat(flags.one('output'), 'text');
  const isDryRun = flags.switched('dry-run') === true;
  if (!isDryRun) checkMayRun(operation, invocation, format);
  return withServer(invocation, async (client) => {
    const wanted = await selected(kind, flags, client);
    const lines = await partsOf(kind, operation, invocation, wanted, client);
    const plans = plansOf(lines);
    if (isDryRun) return printPlans(kind, operation, plans, { io, flags, format });
    if (plans.length === 0) return printTotals(kind, operation, noWork, { io, format });
    if (!(await confirmed(operation, wanted.selection, plans, invocation, format))) return exitCodes.failed;
    const begins = lines.map((parts) => parts.map((part) => beginsPart(kind, client, part)));
    return carriedOut(kind, invocation, client, operation, begins);
  });
}

/** A dry run, whose plan is kept for `apply`. */
export async function runPlan(kind: DlqKind, operation: Change, invocation: Invocation): Promise<ExitCode> {
  const { flags, io } = invocation;
  const format = listFormat(flags.one('output'), 'text');
  const lines = await withServer(invocation, async (client) =>
    partsOf(kind, operation, invocation, await selected(kind, flags, client), client),
  );
  return printPlans(kind, operation, plansOf(lines), { io, flags, format });
}

export async function runApply(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const [planId = ''] = invocation.args;
  const hash = invocation.flags.one('hash') ?? '';
  listFormat(invocation.flags.one('output'), 'text');
  return withServer(invocation, (client) => {
    const begin = () => applied(kind, client, { planId, hash });
    return carriedOut(kind, invocation, client, undefined, [[{ begin }]]);
  });
}

function plansOf(lines: readonly (readonly Part[])[]): readonly Plan[] {
  return lines.flat().map(({ plan }) => plan);
}

type Of = { readonly queue: QueueName; readonly selection: Selection };

/** A queue is asked for the letters that it has: whoever names several means each of them, in whichever queue it is. */
async function ofQueues({ queues, selection }: Selected, client: GrpcClient): Promise<readonly Of[]> {
  if (queues.length < 2 || selection.messageIds.length < 2) return queues.map((queue) => ({ queue, selection }));
  const named = await namedInQueues({ queues, selection }, client);
  return named.flatMap(({ queue, messageIds }) => (messageIds.length === 0 ? [] : [{ queue, selection: { ...selection, messageIds } }]));
}

/** Of each queue that has such letters one part, or several where one plan may not have them all; several have their jobs in one group. */
async function partsOf(
  kind: DlqKind,
  operation: Change,
  invocation: Invocation,
  wanted: Selected,
  client: GrpcClient,
): Promise<readonly (readonly Part[])[]> {
  const { flags } = invocation;
  const options = jobOptionsOf(flags);
  const reason = reasonOf(flags);
  const withLetters: Of[] = [];
  for (const of of await ofQueues(wanted, client)) {
    if ((await client.call(countDeadLetters, { queues: [of.queue], selection: of.selection })).count > 0) withLetters.push(of);
  }
  const missing = withLetters.length === 0 ? await whyNoneFits(flags, wanted, client) : undefined;
  if (missing !== undefined) throw missing;
  if (withLetters.length === 0) await tellOfOwnLetters(kind, invocation, client);
  const groupId = withLetters.length > 1 ? randomUUID() : '';
  const lines: (readonly Part[])[] = [];
  for (const { queue, selection } of withLetters) {
    const request = { operation: operationNumbers[operation], queue, selection, options, reason, groupId };
    lines.push(await plannedInParts(client, request));
  }
  return lines;
}
