/** Kafka's error codes that the data path tells apart (protocol guide, "Error Codes"). */
const names: ReadonlyMap<number, string> = new Map([
  [1, 'OFFSET_OUT_OF_RANGE'],
  [2, 'CORRUPT_MESSAGE'],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
  [5, 'LEADER_NOT_AVAILABLE'],
  [6, 'NOT_LEADER_OR_FOLLOWER'],
  [7, 'REQUEST_TIMED_OUT'],
  [8, 'BROKER_NOT_AVAILABLE'],
  [9, 'REPLICA_NOT_AVAILABLE'],
  [10, 'MESSAGE_TOO_LARGE'],
  [17, 'INVALID_TOPIC_EXCEPTION'],
  [18, 'RECORD_LIST_TOO_LARGE'],
  [19, 'NOT_ENOUGH_REPLICAS'],
  [20, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'],
  [21, 'INVALID_REQUIRED_ACKS'],
  [29, 'TOPIC_AUTHORIZATION_FAILED'],
  [31, 'CLUSTER_AUTHORIZATION_FAILED'],
  [32, 'INVALID_TIMESTAMP'],
  [43, 'UNSUPPORTED_FOR_MESSAGE_FORMAT'],
  [44, 'POLICY_VIOLATION'],
  [53, 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'],
  [56, 'KAFKA_STORAGE_ERROR'],
  [58, 'SASL_AUTHENTICATION_FAILED'],
  [74, 'FENCED_LEADER_EPOCH'],
  [75, 'UNKNOWN_LEADER_EPOCH'],
  [76, 'UNSUPPORTED_COMPRESSION_TYPE'],
  [78, 'OFFSET_NOT_AVAILABLE'],
  [87, 'INVALID_RECORD'],
]);

export const noError = 0;
export const offsetOutOfRange = 1;

/**
 * The broker said no before it appended: the batch is not in the log and never will be.
 *
 *     rights, names, request   17 21 29 31 53 76      looked at before the log is touched
 *     what the batch is        2 10 18 32 43 44 87    validated as a whole before the first byte is written
 *     replicas in sync         19                     too few when the append was asked for
 *
 * Not among them is what a broker also answers once it has appended: 20, too few replicas afterwards; 7, they did not follow in time;
 * 3, 6, 56 and their kin, it was deposed, or its disk failed, while it waited for them. Nor what we do not know.
 */
const refusals: ReadonlySet<number> = new Set([2, 10, 17, 18, 19, 21, 29, 31, 32, 43, 44, 53, 76, 87]);

/** Rights are missing, or a login: a person may be mending it. */
const denials: ReadonlySet<number> = new Set([29, 31, 53, 58]);

/** Of a batch that is larger than `max.message.bytes` or a segment. */
const sizes: ReadonlySet<number> = new Set([10, 18]);

/**
 * The metadata, or the broker, is not what it was: ask again who leads. 7, 19, 20: it does not reach its replicas; if it is the one that is
 * cut off, others lead by now, and it is the last to know.
 */
const staleLeader: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 9, 19, 20, 56, 74, 75]);

export function errorName(code: number): string {
  return names.get(code) ?? `error code ${code}`;
}

export function isRefusal(code: number): boolean {
  return refusals.has(code);
}

export function isDenial(code: number): boolean {
  return denials.has(code);
}

export function isTooLarge(code: number): boolean {
  return sizes.has(code);
}

export function isStaleLeader(code: number): boolean {
  return staleLeader.has(code);
}
