/** One kind of task for another shard: what its target is asked, and what the answers mean. */
import type { ExecutionId } from '../../kernel/run-key.ts';
import type { DecidedRequest, OutboxMessage, OutboxOutcome, ParentLink } from '../commands/history-commands.ts';
import type { RunDraft } from '../draft/draft.ts';
import type { HistoryReply, HistoryWire } from '../run/history-replies.ts';
import type { RunView } from '../run/state.ts';
import type { OutboxTask, Sender } from '../run/tasks.ts';

export type OutboxTaskOf<Kind extends OutboxTask['kind']> = Extract<OutboxTask, { readonly kind: Kind }>;

export type OutboxKind<Kind extends OutboxTask['kind']> = {
  /** undefined: there is nothing to ask (any more), the task is done. `newRunId`: for a child that may be made. */
  readonly message: (run: RunView, task: OutboxTaskOf<Kind>, newRunId: string, wire: HistoryWire) => OutboxMessage | undefined;
  /** What its target must still hear when the run has been deleted. undefined: such a task ends with its run. */
  readonly lastMessage: ((sender: Sender, task: OutboxTaskOf<Kind>) => OutboxMessage | undefined) | undefined;
  /** undefined: nothing is settled, ask again later. */
  readonly outcome: (reply: HistoryReply) => OutboxOutcome | undefined;
  /** The target cannot write what it is asked for. undefined: the protocol has no such answer. */
  readonly tooLarge: OutboxOutcome | undefined;
  /** What the outcome writes in the run. undefined: nothing, so the end of the task waits for the next record. */
  readonly finish: ((run: RunDraft, task: OutboxTaskOf<Kind>, outcome: OutboxOutcome) => void) | undefined;
};

/** Any answer but "try again" ends the task. */
export function anyAnswer(reply: HistoryReply): OutboxOutcome | undefined {
  if (reply.kind !== 'rejected') return { kind: 'done' };
  const { reason, message } = reply.rejection;
  return reason === 'busy-workflow' ? undefined : { kind: 'done', nothingLeft: message };
}

/** What its target is told, also when the run has been deleted, and nobody hears anything of. */
export function told<Kind extends OutboxTask['kind']>(
  message: (sender: Sender, task: OutboxTaskOf<Kind>) => OutboxMessage | undefined,
): OutboxKind<Kind> {
  return { message, lastMessage: message, outcome: anyAnswer, tooLarge: undefined, finish: undefined };
}

export function to(target: ExecutionId, command: DecidedRequest): OutboxMessage {
  return { targetNamespaceId: target.namespaceId, targetWorkflowId: target.workflowId, command };
}

export function requestId(run: Sender, initiatedEventId: number): string {
  return `${run.key.runId}:${initiatedEventId}:0`;
}

export function linkTo(run: Sender, initiatedEventId: number): ParentLink {
  const { key, namespace, start } = run;
  return { ...key, namespace, initiatedEventId, rootWorkflowId: start.root.workflowId, rootRunId: start.root.runId };
}
