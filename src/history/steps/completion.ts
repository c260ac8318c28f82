/** What the commands of one completed workflow task share. */
import type { ResolvedCompletion } from '../commands/history-commands.ts';
import type { WorkflowCommand } from '../commands/workflow-commands.ts';
import type { EventMeta, RunDraft } from '../draft/draft.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import type { workflowTaskFailedCause } from '../generated/enums.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';
import type { UpdateEnd } from './updates.ts';
import type { UpdateMessage } from '../commands/update-commands.ts';

export type Completion = {
  readonly run: RunDraft;
  readonly request: ResolvedCompletion;
  /** Every event that a command makes points at it. */
  readonly completedEventId: number;
  /** Events had come in meanwhile: the workflow may not close without having seen them. */
  unhandledEvents: boolean;
  /** An activity was cancelled before it started: the workflow hears of it in another task. */
  cancelledUnstarted: boolean;
  /** An activity was cancelled that was paused: it is still to be noted. */
  cancelledPaused: boolean;
  /** Scheduled ids of activities whose close is buffered; undefined: not looked for yet. */
  closesBuffered: Set<number> | undefined;
  /** Scheduled ids of activities to be started right here. */
  readonly eager: number[];
  /** Messages about updates that no command has placed yet, by their own ids. */
  readonly messages: Map<string, UpdateMessage>;
  /** What has come of updates so far, by their ids. */
  readonly updateEnds: Map<string, UpdateEnd>;
  /** Workflow ids of children that this task starts. */
  readonly childrenStarted: Set<string>;
  /** Requests to the workflow itself: they fail at once, and count as pending until this task is over. */
  signalsToItself: number;
  cancelsOfItself: number;
  /** What upserts have rewritten so far. */
  upsertedBytes: number;
};

type FailedCauseName = keyof typeof workflowTaskFailedCause;

/** The workflow task fails because of a command; `terminate`: so does the workflow. */
export type CommandFailure = { readonly cause: FailedCauseName; readonly detail: string; readonly terminate: boolean };

export function bad(cause: FailedCauseName, detail: string): CommandFailure {
  return { cause, detail, terminate: false };
}

/** A size limit is broken: repeating the task would not help. */
export function tooLarge(cause: FailedCauseName, detail: string): CommandFailure {
  return { cause, detail, terminate: true };
}

/** A worker's ids and types, which a detail names, may be too long to be written down once more. */
const detailCharsMax = 4_000;

export function failureMessage(failure: CommandFailure): string {
  if (failure.detail === '') return pascalCase(failure.cause);
  const cut = failure.detail.length > detailCharsMax ? `${failure.detail.slice(0, detailCharsMax)}...` : failure.detail;
  return `${pascalCase(failure.cause)}: ${cut}`;
}

export function commandMeta(command: WorkflowCommand): EventMeta {
  return { userMetadata: command.userMetadata, eventGroupMarkers: command.eventGroupMarkers ?? [] };
}

export type CommandOfType<Type extends WorkflowCommand['type']> = Extract<WorkflowCommand, { readonly type: Type }>;

/** Whether `value` is one of an enumeration whose values are 0 (unspecified) … `last`. */
export function isKnown(value: number, last: number): boolean {
  return value >= 0 && value <= last;
}

export function exceedsId(completion: Completion, id: string): boolean {
  return id.length > completion.run.draft.limits.idBytesMax / 3 && utf8Bytes(id) > completion.run.draft.limits.idBytesMax;
}

export function exceedsBlob(completion: Completion, bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && bytes.length > completion.run.draft.limits.blobBytesMax;
}
