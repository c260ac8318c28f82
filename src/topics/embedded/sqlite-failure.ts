import { accessSync, constants } from 'node:fs';
import { LogError } from '../../actors/log.ts';
import { errorMessage } from '../../kernel/error-text.ts';

/** Primary result codes of SQLite that have a meaning of their own here (sqlite.org/rescode.html). */
const busy = 5;
const readOnly = 8;
const ioError = 10;
const corrupt = 11;
const cannotOpen = 14;
const notADatabase = 26;

/** What SQLite said about the file, as the world's error: what was found and what to do. */
export function sqliteFailure(error: unknown, filename: string): LogError {
  const message = errorMessage(error);
  const options = { cause: error, recoverable: false };
  switch (primaryCode(error)) {
    case busy:
      return new LogError('locked', `${filename} is in use by another process; one file belongs to one running server`, options);
    case cannotOpen:
      return new LogError('unavailable', `${filename} cannot be opened: does its folder exist, and may this user write there?`, options);
    case readOnly:
      return new LogError('unavailable', readOnlyMessage(filename), options);
    case ioError:
      // A file that this user may only read is opened for reading, and then the lock fails.
      if (!isWritable(filename)) return new LogError('unavailable', readOnlyMessage(filename), options);
      return new LogError('unavailable', `${filename}: ${message}; look at the disk, and whether its file system can lock files`, options);
    case corrupt:
      return new LogError('corrupt', `${filename} is damaged: ${message}`, options);
    case notADatabase:
      return new LogError('corrupt', `${filename} is not a log of Perdure: it is no SQLite database`, options);
    default:
      return new LogError('unavailable', `${filename}: ${message}`, options);
  }
}

function readOnlyMessage(filename: string): string {
  return `${filename} cannot be written: it, or its folder, is read-only for this user`;
}

function isWritable(filename: string): boolean {
  try {
    accessSync(filename, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** node:sqlite puts the extended result code into `errcode`; its low byte is the primary one. */
function primaryCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
