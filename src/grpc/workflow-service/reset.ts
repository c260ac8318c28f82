import { ownWork } from '../../actors/asks/asks.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryPosition } from '../../history/run/history-replies.ts';
import type { ResetWorkflow } from '../../history/commands/operation-commands.ts';
import { ResetReapplyExcludeType, ResetReapplyType } from '../../wire/generated/lean/enums.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { ComputingCalls } from '../computing-calls.ts';
import { canceled, exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { type Held, HeldBytes } from '../held-bytes.ts';
import { inNamespace, methodsOf, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound, finishEventOutside } from '../validation/bounds.ts';
import { checkLengths, runKey } from '../validation/names.ts';
import { priorityChangesOf } from '../validation/options.ts';
import { positionNow } from '../pages/history-pages.ts';
import { tellOfChildren } from './reset-children.ts';
import { keepEvents, type Kept, LaterEvents, type Reapplied } from './reset-history.ts';

/** A run that grows meanwhile is read on, which takes some milliseconds: what it was told behind the reading before. */
const readingsMax = 100;
/** What is dropped when the call is over is asked for so long. */
const dropTimeoutMs = 30_000;

/** The edge reads the history (reset-history.ts), and the shard decides if nothing has been added to it meanwhile. */
export function resetMethods(context: HandlerContext): readonly NamedMethod[] {
  const resources = { histories: new HeldBytes('histories of resets'), preparing: new ComputingCalls(context.ports.turns) };
  return methodsOf(wire.codecs, {
    ResetWorkflowExecution: inNamespace((_, request, call, namespace) => reset(context, resources, request, call, namespace)),
  })(context);
}

type Resources = {
  readonly histories: HeldBytes;
  /** A reset writes all events that it keeps: a few of a namespace do so at a time. */
  readonly preparing: ComputingCalls;
};

async function reset(
  context: HandlerContext,
  { histories, preparing }: Resources,
  request: wire.ResetWorkflowExecutionRequest,
  call: Call,
  namespace: Namespace,
): Promise<wire.ResetWorkflowExecutionResponse> {
  const asked = runKey(namespace.id, request.workflowExecution);
  const { requestId, reason, workflowTaskFinishEventId: finishEventId } = request;
  if (requestId === '') throw invalidArgument('RequestId is not set on request.');
  checkLengths({ RequestId: requestId, Identity: request.identity, Reason: reason }, context.limits);
  checkBound('ResetWorkflowExecutionRequest.workflow_task_finish_event_id', finishEventId);
  checkBound('ResetWorkflowExecutionRequest.reset_reapply_type', request.resetReapplyType);
  for (const type of request.resetReapplyExcludeTypes) checkBound('ResetWorkflowExecutionRequest.reset_reapply_exclude_types', type);
  const priorityChanges = priorityChangesOf(request.postResetOperations);
  const reapplied = reappliedOf(request);
  // Clients are answered as by Temporal. The shard refuses what is no task.
  const behindLast = call.own !== undefined ? 1 : 0;

  const held = histories.hold(namespace.id);
  let heldLater: Held | undefined;
  const preparations = new Preparations(context, () => preparing.enter(call, namespace.id));
  let kept: Kept | undefined;
  let later: LaterEvents | undefined;
  try {
    for (let reading = 0; reading < readingsMax; reading++) {
      const base = await positionNow(context, call, asked);
      if (finishEventId > base.lastEventId + behindLast) throw invalidArgument(finishEventOutside);
      // What is behind them may have grown; they are what they were.
      if (kept === undefined || later === undefined || kept.base.runId !== base.key.runId) {
        kept = await keepEvents({ context, call, held }, base, { finishEventId, requestId }, (run) => preparations.begin(run));
        heldLater?.release();
        heldLater = histories.hold(namespace.id);
        later = new LaterEvents({ context, call, held: heldLater }, kept, { finishEventId, reapplied });
      }
      const { retentionMs } = namespace;
      const how = { requestId, reason, reappliesSignals: reapplied.signals, priorityChanges, retentionMs };
      const runId = await goOn({ context, call }, base, kept, later, how);
      if (runId === '') continue;
      preparations.ended(kept.newRunId);
      // An open run has heard of its children up to the record that ended it. Of a reset that is asked again it is not known what it was.
      const next = { key: { ...base.key, runId }, namespace: namespace.name };
      const { keptEvents } = kept;
      if (base.closed || runId !== kept.newRunId) await tellOfChildren(context, call, next, { finishEventId, keptEvents });
      return { runId };
    }
    throw resourceExhausted('the workflow changes while its history is read', exhaustedCause.busyWorkflow, exhaustedScope.namespace);
  } finally {
    held.release();
    heldLater?.release();
    preparations.drop();
  }
}

type How = Pick<ResetWorkflow, 'requestId' | 'reason' | 'reappliesSignals' | 'priorityChanges' | 'retentionMs'>;

/** Answers the run; '' = the history has grown since `base`. */
async function goOn(
  { context, call }: { readonly context: HandlerContext; readonly call: Call },
  base: HistoryPosition,
  { newRunId, isPrepared, keptEvents, madeRunId }: Kept,
  later: LaterEvents,
  how: How,
): Promise<string> {
  if (madeRunId !== '') return madeRunId;
  const { key } = base;
  const read = await later.readOn(base);
  if (call.cancelled) throw canceled();
  const command = { kind: 'resetWorkflow', key, newRunId, isPrepared, keptEvents, ...read, ...how } as const;
  return (await context.history(call, key, command)).runId;
}

/** Runs that this call has begun to prepare: what it does not go on with is dropped, now if that can be, and else when their time is over. */
class Preparations {
  readonly #context: HandlerContext;
  readonly #enter: () => Promise<() => void>;
  readonly #runs = new Map<string, RunKey>();
  #leave: (() => void) | undefined;

  /** `enter`: when it may begin. What comes back is called in the end. */
  constructor(context: HandlerContext, enter: () => Promise<() => void>) {
    this.#context = context;
    this.#enter = enter;
  }

  async begin(run: RunKey): Promise<void> {
    this.#leave ??= await this.#enter();
    this.#runs.set(run.runId, run);
  }

  ended(runId: string): void {
    this.#runs.delete(runId);
  }

  /** Goes on behind the call, which may have no time left, or nobody who waits. It changes nothing of a run that is the reset by now, unheard of. */
  drop(): void {
    this.#leave?.();
    const { ports } = this.#context;
    for (const key of this.#runs.values()) {
      const shard = ports.historyShardOf(key.namespaceId, key.workflowId);
      ports.asker.askHistory(shard, { kind: 'dropReset', key }, ownWork(this.#context.monoMs() + dropTimeoutMs), () => {});
    }
  }
}

/** The type is from before updates could be: who asks for signals by it gets those alone. */
function reappliedOf({ resetReapplyType: type, resetReapplyExcludeTypes: excluded }: wire.ResetWorkflowExecutionRequest): Reapplied {
  const { NONE, SIGNAL } = ResetReapplyType;
  return {
    signals: type !== NONE && !excluded.includes(ResetReapplyExcludeType.SIGNAL),
    updates: type !== NONE && type !== SIGNAL && !excluded.includes(ResetReapplyExcludeType.UPDATE),
  };
}
