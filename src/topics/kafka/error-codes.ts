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
  [29, 'TOPIC_AUTHORIZATION_FAILED'],
  [32, 'INVALID_TIMESTAMP'],
  [43, 'UNSUPPORTED_FOR_MESSAGE_FORMAT'],
  [44, 'POLICY_VIOLATION'],
  [56, 'KAFKA_STORAGE_ERROR'],
  [74, 'FENCED_LEADER_EPOCH'],
  [75, 'UNKNOWN_LEADER_EPOCH'],
  [78, 'OFFSET_NOT_AVAILABLE'],
  [87, 'INVALID_RECORD'],
]);

export const noError = 0;
export const offsetOutOfRange = 1;

/**
 * The broker said no before it appended: the batch is not in the log and never will be. NOT_LEADER and its kin are not among them: a
 * leader that is deposed while it waits for its replicas answers with the same code, after it had appended.
 */
const refusals: ReadonlySet<number> = new Set([2, 10, 17, 18, 19, 29, 32, 43, 44, 87]);

/** The metadata, or the broker, is not what it was: ask again who leads. */
const staleLeader: ReadonlySet<number> = new Set([3, 5, 6, 8, 9, 56, 74, 75]);

export function errorName(code: number): string {
  return names.get(code) ?? `error code ${code}`;
}

export function isRefusal(code: number): boolean {
  return refusals.has(code);
}

export function isStaleLeader(code: number): boolean {
  return staleLeader.has(code);
}

/** Passes by itself; asking again is right. */
export function isPassing(code: number): boolean {
  return staleLeader.has(code) || code === 7 || code === 78;
}
