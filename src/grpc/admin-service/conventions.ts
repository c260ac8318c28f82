import { isUuid } from '../../kernel/uuid.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';

/** A value without which the operation means nothing. */
export function required<Value>(value: Value | null | undefined, field: string): Value {
  if (value === undefined || value === null || value === '') throw invalidArgument(`${field} is not set`);
  return value;
}

/** Shards are 1 to `historyShards`. */
export function existingShard(shardId: number, historyShards: number): number {
  if (shardId <= 0) throw invalidArgument(`Invalid ShardID: ${shardId}`);
  if (shardId > historyShards) throw notFound(`shard ${shardId} is not found: there are shards 1 to ${historyShards}`);
  return shardId;
}

export function uuidOrEmpty(id: string, field: string): void {
  if (id !== '' && !isUuid(id)) throw invalidArgument(`${field} is not a UUID`);
}

/** 0 = `standard`; more than the largest page is lowered to it. */
export function pageSize(asked: number, standard: number, max = 1_000): number {
  if (asked < 0) throw invalidArgument('Invalid PageSize.');
  return asked === 0 ? standard : Math.min(asked, max);
}

/** A list that never has a second page gives no token, so any token is a wrong one. */
export function noPageToken(token: Uint8Array): void {
  if (token.length > 0) throw invalidPageToken();
}

export function invalidPageToken(): Error {
  return invalidArgument('Invalid NextPageToken.');
}
