import { accessSync, constants } from 'node:fs';
import { errorCode, errorMessage } from '../kernel/error-text.ts';
import { type KindOfFile, kindsOfFile } from './whose-file.ts';

/** Primary result codes of SQLite that have a meaning of their own here (sqlite.org/rescode.html). */
const busy = 5;
const readOnly = 8;
const ioError = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const tooBig = 18;
const constraint = 19;
const mismatch = 20;
const notADatabase = 26;

/** `locked`: by another process. `unavailable`: disk, folder, rights. `refused`: a value that does not fit. `foreign`: no SQLite file. */
export type SqliteFailure = {
  readonly kind: 'locked' | 'unavailable' | 'corrupt' | 'foreign' | 'refused';
  readonly message: string;
};

/** What SQLite, or Node's binding to it, said about the file: what was found and what to do. */
export function sqliteFailure(error: unknown, filename: string, wanted: KindOfFile): SqliteFailure {
  const message = errorMessage(error);
  switch (primaryCode(error)) {
    case busy:
      return { kind: 'locked', message: `${filename} is in use by another process; one file belongs to one running server` };
    case cannotOpen:
      return { kind: 'unavailable', message: `${filename} cannot be opened: does its folder exist, and may this user write there?` };
    case readOnly:
      return { kind: 'unavailable', message: readOnlyMessage(filename) };
    case ioError:
      // A file that this user may only read is opened for reading, and then the lock fails.
      if (!isWritable(filename)) return { kind: 'unavailable', message: readOnlyMessage(filename) };
      return { kind: 'unavailable', message: `${filename}: ${message}; look at the disk, and whether its file system can lock files` };
    case full:
      return { kind: 'unavailable', message: `${filename} cannot grow: ${message}; make room on its disk` };
    case corrupt:
      return { kind: 'corrupt', message: `${filename} is damaged: ${message}` };
    case notADatabase:
      return { kind: 'foreign', message: `${filename} is not ${kindsOfFile[wanted]}: it is not an SQLite database; name another file` };
    case tooBig:
    case constraint:
    case mismatch:
      return { kind: 'refused', message: `${filename} refuses a row: ${message}` };
    default:
      if (isAboutAnArgument(error)) return { kind: 'refused', message: `${filename} refuses a row: ${message}` };
      return { kind: 'unavailable', message: `${filename}: ${message}` };
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

/** A value that node:sqlite cannot bind: a bigint beyond 64 bits, something that is no value of SQLite. */
function isAboutAnArgument(error: unknown): boolean {
  return argumentCodes.has(errorCode(error) ?? '');
}

const argumentCodes: ReadonlySet<string> = new Set(['ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_VALUE', 'ERR_OUT_OF_RANGE']);
