import { LogError } from '../../actors/log.ts';
import { sqliteFailure, type SqliteFailure } from '../../sqlite/sqlite-failure.ts';
import type { LogErrorCode } from '../../actors/log.ts';

const codes: Readonly<Record<SqliteFailure['kind'], LogErrorCode>> = {
  locked: 'locked',
  unavailable: 'unavailable',
  refused: 'unavailable',
  corrupt: 'corrupt',
  foreign: 'corrupt',
};

/** What SQLite said about the file, as the log's error. */
export function logFailure(error: unknown, filename: string): LogError {
  const { kind, message } = sqliteFailure(error, filename, 'log');
  return new LogError(codes[kind], message, { cause: error, recoverable: false });
}
