/**
 * What an index knows of a letter: all that is listed, counted, filtered and grouped by. Its task's bytes, its stack and its history are not
 * here: they are read from the topic at `offset`.
 *
 * A row fits every database, whatever its letter holds: its texts are cut, and a number beyond 64 bits, which no task has, is not known.
 */
import { int64Max, int64Min } from '../kernel/int64.ts';
import { cutToUtf8Bytes } from '../kernel/utf8.ts';
import type { DeadLetterCause, LetterDisposition, LetterState, Whole } from './letter.ts';
import type { DamagedLetterRecord, LetterRecord } from './records.ts';

/** Texts that are not known are '', numbers and times undefined. Times are ms since 1970. */
export type LetterRow = {
  readonly messageId: number;
  /** Of the record that tells of it last. */
  readonly offset: number;
  readonly taskId: Whole | undefined;
  readonly taskType: string;
  readonly shardId: number | undefined;
  readonly namespaceId: string;
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly workflowType: string;
  readonly cause: DeadLetterCause | '';
  readonly disposition: LetterDisposition;
  readonly errorType: string;
  readonly errorMessage: string;
  readonly fingerprint: string;
  readonly attempts: number;
  readonly generation: number;
  readonly state: LetterState;
  readonly taskFireTimeMs: number | undefined;
  readonly firstFailureTimeMs: number | undefined;
  readonly lastFailureTimeMs: number | undefined;
  readonly deadLetterTimeMs: number;
  readonly firstEventId: Whole | undefined;
  readonly nextEventId: Whole | undefined;
  readonly version: Whole | undefined;
  readonly sourceCluster: string;
  readonly node: string;
  readonly build: string;
  /** This version cannot read it: nothing is known but its id, and `errorMessage` says why. */
  readonly isDamaged: boolean;
};

/** Of each text, as UTF-8: an entry of an index of PostgreSQL takes 2,704 bytes. */
const LETTER_TEXT_BYTES_MAX = 2_048;

export type LetterPlace = { readonly sourceCluster: string; readonly offset: number };

export function letterRow(record: LetterRecord | DamagedLetterRecord, { sourceCluster, offset }: LetterPlace): LetterRow {
  const { messageId } = record;
  const place = { messageId, offset, sourceCluster: cut(sourceCluster) };
  if (record.kind === 'damaged') {
    return {
      ...unknown,
      ...place,
      deadLetterTimeMs: record.timeMs,
      errorMessage: cut(record.reason),
      state: record.state,
      isDamaged: true,
    };
  }
  const { task, failure, generation, state, deadLetterTimeMs } = record.letter;
  return {
    ...place,
    taskId: storable(task.taskId),
    taskType: cut(task.taskType),
    shardId: task.shardId,
    namespaceId: cut(task.namespaceId),
    namespace: cut(task.namespace),
    workflowId: cut(task.workflowId),
    runId: cut(task.runId),
    workflowType: cut(task.workflowType),
    cause: failure.cause,
    disposition: failure.disposition,
    errorType: cut(failure.errorType),
    errorMessage: cut(failure.errorMessage),
    fingerprint: cut(failure.fingerprint),
    attempts: failure.attempts,
    generation,
    state,
    taskFireTimeMs: task.fireTimeMs,
    firstFailureTimeMs: failure.firstFailureTimeMs,
    lastFailureTimeMs: failure.lastFailureTimeMs,
    deadLetterTimeMs,
    firstEventId: storable(task.eventId),
    nextEventId: storable(task.nextEventId),
    version: storable(task.taskVersion),
    node: cut(failure.node),
    build: cut(failure.build),
    isDamaged: false,
  };
}

const unknown = {
  taskId: undefined,
  taskType: '',
  shardId: undefined,
  namespaceId: '',
  namespace: '',
  workflowId: '',
  runId: '',
  workflowType: '',
  cause: '',
  disposition: '',
  errorType: '',
  fingerprint: '',
  attempts: 0,
  generation: 0,
  state: 'open',
  taskFireTimeMs: undefined,
  firstFailureTimeMs: undefined,
  lastFailureTimeMs: undefined,
  firstEventId: undefined,
  nextEventId: undefined,
  version: undefined,
  node: '',
  build: '',
} as const;

function storable(value: Whole | undefined): Whole | undefined {
  return typeof value === 'bigint' && (value < int64Min || value > int64Max) ? undefined : value;
}

function cut(text: string): string {
  return cutToUtf8Bytes(text, LETTER_TEXT_BYTES_MAX);
}
