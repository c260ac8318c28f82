/**
 * The commands `… dlq merge`, `purge`, `plan` and `apply`.
 *
 *     selection ── count ──▶ plans, one for each queue that has letters ── question ──▶ jobs ── wait ──▶ totals
 *                    │ none    or several, of its parts    │ --dry-run, plan             │ --no-wait
 *                    ▼                                     ▼                             ▼
 *                  done                                  printed                       their ids
 */
import { randomUUID } from 'node:crypto';
import type { Plan, QueueName, Selection } from '../../../wire/generated/api/deadletter/service.ts';
import { exitCodes, type ExitCode, type Invocation } from '../../command.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { applied } from './applied.ts';
import { jobOptionsOf, reasonOf } from './change-options.ts';
import { checkMayRun, confirmed } from './confirmation.ts';
import { carriedOut } from './job-wait.ts';
import { namedInQueues, whyNoneFits } from './named-letter.ts';
import { operationNumbers } from './operation.ts';
import { printPlans } from './plan-forms.ts';
import { beginsPart, plannedInParts, type Part } from './plans-in-parts.ts';
import { tellOfOwnLetters } from './queues.ts';
import { selected, type Selected } from './selected.ts';
import { calls, type DlqKind } from './service.ts';
import { noWork, printTotals } from './totals.ts';

type Change = 'merge' | 'purge';

export async function runChange(kind: DlqKind, operation: Change, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const isDryRun = flags.switched('dry-run') === true;
  if (!isDryRun) checkMayRun(operation, invocation);
  return withServer(invocation, async (client) => {
    const wanted = await selected(kind, flags, client);
    const lines = await partsOf(kind, operation, invocation, wanted, client);
    const plans = plansOf(lines);
    if (isDryRun) return printPlans(kind, operation, plans, invocation);
    if (plans.length === 0) return printTotals(kind, operation, noWork, invocation);
    if (!(await confirmed(operation, wanted.selection, plans, invocation))) return exitCodes.failed;
    const begins = lines.map((parts) => parts.map((part) => beginsPart(kind, client, part)));
    return carriedOut(kind, invocation, client, operation, begins);
  });
}

export async function runPlan(kind: DlqKind, operation: Change, invocation: Invocation): Promise<ExitCode> {
  const lines = await withServer(invocation, async (client) =>
    partsOf(kind, operation, invocation, await selected(kind, invocation.flags, client), client),
  );
  return printPlans(kind, operation, plansOf(lines), invocation);
}

export async function runApply(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const [planId = ''] = invocation.args;
  const hash = invocation.flags.one('hash') ?? '';
  return withServer(invocation, (client) => {
    const begin = () => applied(kind, client, { planId, hash });
    return carriedOut(kind, invocation, client, undefined, [[{ begin }]]);
  });
}

function plansOf(lines: readonly (readonly Part[])[]): readonly Plan[] {
  return lines.flat().map(({ plan }) => plan);
}

type Of = { readonly queue: QueueName; readonly selection: Selection };

/** Message ids on the command line may be in different queues, so each queue is asked for those that it has. */
async function ofQueues({ queues, selection }: Selected, client: GrpcClient): Promise<readonly Of[]> {
  if (queues.length < 2 || selection.messageIds.length < 2) return queues.map((queue) => ({ queue, selection }));
  const named = await namedInQueues({ queues, selection }, client);
  return named.flatMap(({ queue, messageIds }) => (messageIds.length === 0 ? [] : [{ queue, selection: { ...selection, messageIds } }]));
}

/** One part for each queue with selected messages, or several if they do not fit into one plan; the jobs of several parts form a group. */
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
    if ((await client.call(calls.CountDeadLetters, { queues: [of.queue], selection: of.selection })).count > 0) withLetters.push(of);
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
