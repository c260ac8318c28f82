/**
 * Kafka's error codes that the data path tells apart (protocol guide, "Error Codes"), and what follows from each:
 *
 *     refusal       the broker said no before it appended: the batch is not in the log and never will be. Rights, names and the request are
 *                   looked at before the log is touched; a batch is validated as a whole before its first byte is written; 19: too few
 *                   replicas in sync when the append was asked for
 *     denial        rights are missing, or a login: a person may be mending it
 *     size          the batch is larger than `max.message.bytes` or a segment
 *     stale leader  the metadata, or the broker, is not what it was: ask again who leads. 7, 19, 20: it does not reach its replicas; if it is
 *                   the one that is cut off, others lead by now, and it is the last to know
 *
 * No refusal is what a broker also answers once it has appended: 20, too few replicas afterwards; 7, they did not follow in time; 3, 6, 56
 * and their kin, it was deposed, or its disk failed, while it waited for them. Nor what we do not know.
 */
type Trait = 'refusal' | 'denial' | 'size' | 'stale leader';

const errors: readonly (readonly [code: number, name: string, ...traits: Trait[]])[] = [
  [1, 'OFFSET_OUT_OF_RANGE'],
  [2, 'CORRUPT_MESSAGE', 'refusal'],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION', 'stale leader'],
  [5, 'LEADER_NOT_AVAILABLE', 'stale leader'],
  [6, 'NOT_LEADER_OR_FOLLOWER', 'stale leader'],
  [7, 'REQUEST_TIMED_OUT', 'stale leader'],
  [8, 'BROKER_NOT_AVAILABLE', 'stale leader'],
  [9, 'REPLICA_NOT_AVAILABLE', 'stale leader'],
  [10, 'MESSAGE_TOO_LARGE', 'refusal', 'size'],
  [17, 'INVALID_TOPIC_EXCEPTION', 'refusal'],
  [18, 'RECORD_LIST_TOO_LARGE', 'refusal', 'size'],
  [19, 'NOT_ENOUGH_REPLICAS', 'refusal', 'stale leader'],
  [20, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'stale leader'],
  [21, 'INVALID_REQUIRED_ACKS', 'refusal'],
  [29, 'TOPIC_AUTHORIZATION_FAILED', 'refusal', 'denial'],
  [31, 'CLUSTER_AUTHORIZATION_FAILED', 'refusal', 'denial'],
  [32, 'INVALID_TIMESTAMP', 'refusal'],
  [43, 'UNSUPPORTED_FOR_MESSAGE_FORMAT', 'refusal'],
  [44, 'POLICY_VIOLATION', 'refusal'],
  [53, 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'refusal', 'denial'],
  [56, 'KAFKA_STORAGE_ERROR', 'stale leader'],
  [58, 'SASL_AUTHENTICATION_FAILED', 'denial'],
  [74, 'FENCED_LEADER_EPOCH', 'stale leader'],
  [75, 'UNKNOWN_LEADER_EPOCH', 'stale leader'],
  [76, 'UNSUPPORTED_COMPRESSION_TYPE', 'refusal'],
  [78, 'OFFSET_NOT_AVAILABLE'],
  [87, 'INVALID_RECORD', 'refusal'],
];
const byCode = new Map(errors.map(([code, name, ...traits]) => [code, { name, traits }]));

export const noError = 0;
export const offsetOutOfRange = 1;

export function errorName(code: number): string {
  return byCode.get(code)?.name ?? `error code ${code}`;
}

export function errorIs(code: number, trait: Trait): boolean {
  return byCode.get(code)?.traits.includes(trait) === true;
}
