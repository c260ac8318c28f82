/** Rows to write, and how they are compared. */
import { createHash } from 'node:crypto';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type {
  CheckpointPosition,
  HistoryDelta,
  HistoryRow,
  MatchingTaskRow,
  RunRow,
  TransferTaskRow,
  TimerRow,
} from '../../../src/projections/database-port.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';

let uuids = 0;

/** Each greater than the one before, in one process; another process has others. */
export function uuid(): string {
  const serial = (++uuids).toString(16).padStart(12, '0');
  return `${serial.slice(0, 8)}-${serial.slice(8)}-7000-8000-${process.pid.toString(16).padStart(12, '0')}`;
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const emptyDelta: HistoryDelta = {
  runs: [],
  currentRuns: [],
  childStarts: [],
  history: [],
  transferTasks: [],
  timers: [],
  tasksAtMatching: [],
  goneTransferTasks: [],
  goneTimers: [],
  retiredRuns: [],
  visibility: [],
};

export function positionAt(nextOffset: number, fields: Partial<CheckpointPosition> = {}): CheckpointPosition {
  return {
    epoch: 3,
    sequence: nextOffset + 100,
    nextOffset,
    lastOffset: nextOffset - 1,
    timeMs: 1_770_000_000_000 + nextOffset,
    schema: 1,
    counters: bytesOf(`counters ${nextOffset}`),
    trimPoints: [{ timeMs: 1_769_000_000_000, lastOffset: 1, bytes: 0 }],
    ...fields,
  };
}

export function runRow(id: { readonly namespaceId: string } & Partial<RunRow>): RunRow {
  const runId = id.runId ?? uuid();
  return { workflowId: `workflow ${runId}`, runId, status: 1, state: bytesOf(`state of ${runId}`), forgetMs: undefined, ...id };
}

export function historyRow(runId: string, firstEventId: number, lastEventId: number, text = 'events'): HistoryRow {
  return { runId, branch: 0, firstEventId, lastEventId, events: bytesOf(`${text} ${firstEventId} to ${lastEventId}`) };
}

export function taskRow(taskId: number, fields: Partial<TransferTaskRow> = {}): TransferTaskRow {
  return { taskId, task: bytesOf(`task ${taskId}`), aside: false, atMatching: false, ...fields };
}

export function timerRow(fireTimeMs: number, taskId: number, fields: Partial<TimerRow> = {}): TimerRow {
  return { taskId, task: bytesOf(`task ${taskId}`), aside: false, fireTimeMs, ...fields };
}

export function matchingRow(taskId: number, queue: string): MatchingTaskRow {
  return { taskId, queue, task: bytesOf(`${queue} ${taskId}`) };
}

export function letterRow(messageId: number, fields: Partial<LetterRow> = {}): LetterRow {
  return {
    messageId,
    offset: 10 * messageId + 3,
    taskId: 1_000 + messageId,
    taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
    shardId: 1,
    namespaceId: '32049b68-7872-4094-8e63-d0dd59896a83',
    namespace: 'default',
    workflowId: `order-${messageId}`,
    runId: '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11',
    workflowType: 'Order',
    cause: 'retries-exhausted',
    disposition: 'exhausted',
    errorType: 'Unavailable',
    errorMessage: `connection ${messageId} refused`,
    fingerprint: '0123456789abcdef',
    attempts: 70,
    generation: 0,
    state: 'open',
    taskFireTimeMs: undefined,
    firstFailureTimeMs: 1_770_000_000_000,
    lastFailureTimeMs: 1_770_000_600_000,
    deadLetterTimeMs: 1_770_000_600_001 + messageId,
    firstEventId: 5,
    nextEventId: undefined,
    version: undefined,
    sourceCluster: 'active',
    node: 'host:7233',
    build: '0.1.0',
    isDamaged: false,
    ...fields,
  };
}

export function visibilityRow(run: { readonly namespaceId: string } & Partial<VisibilityRow>): VisibilityRow {
  const runId = run.runId ?? uuid();
  const workflowId = `workflow ${runId}`;
  return {
    runId,
    shard: 1,
    workflowId,
    workflowType: 'Order',
    taskQueue: 'orders',
    status: 1,
    startTimeMs: 1_770_000_000_000,
    executionTimeMs: 1_770_000_000_000,
    closeTimeMs: undefined,
    executionDurationMs: undefined,
    historyLength: undefined,
    historySizeBytes: undefined,
    stateTransitionCount: undefined,
    parentWorkflowId: '',
    parentRunId: '',
    rootWorkflowId: workflowId,
    rootRunId: runId,
    memo: undefined,
    searchAttributes: undefined,
    slots: new Map(),
    version: 1,
    ...run,
  };
}

/** The row once it is closed. */
export function closedRow(row: VisibilityRow, closeTimeMs: number, fields: Partial<VisibilityRow> = {}): VisibilityRow {
  const ofClosed = { status: 2, closeTimeMs, executionDurationMs: closeTimeMs - row.startTimeMs, historyLength: 5, historySizeBytes: 500 };
  return { ...row, ...ofClosed, stateTransitionCount: 4, version: row.version + 1, ...fields };
}

export const idOf = ({ namespaceId, workflowId, runId }: RunKey): RunKey => ({ namespaceId, workflowId, runId });

/** Bytes as texts, short ones in full: comparing and printing long arrays element by element takes seconds. */
export function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    if (value.length < 200) return `bytes ${Buffer.from(value).toString('latin1')}`;
    return `${value.length} bytes ${createHash('sha1').update(value).digest('base64')}`;
  }
  if (Array.isArray(value)) return value.map(comparable);
  if (value instanceof Map) return comparable([...value]);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, comparable(field)]));
}
