/** What PostgreSQL, or the way to it, said: as the port's error, with what was found and what to do. */
import { DatabaseError } from '../database-port.ts';
import { errorCode, errorMessage } from '../../kernel/error-text.ts';
import { nameOf } from './names.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';

/** SQLSTATE of what the server itself said; undefined: the connection broke, or never was. */
function sqlState(error: unknown): string | undefined {
  const code = errorCode(error) ?? '';
  return /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E') ? code : undefined;
}

/** Whether the server keeps the connection after this error: after any other nobody knows in what state it is. */
export function leavesConnection(error: unknown): boolean {
  const state = sqlState(error);
  // 57P: the server goes down, or ended this session. 25P03: so it did because we were idle in a transaction. 08: the protocol broke.
  return state !== undefined && !/^(57P|25P03|08)/.test(state);
}

/** Something in a row is refused: its type (22), a constraint (23), a size (54). */
export function isAboutData(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlState(error) ?? '');
}

/** A statement that reads too much, or waits for a lock: the server ended it, and answers. */
export function isOvertime(error: DatabaseError): boolean {
  return sqlState(error.cause) === '57014';
}

/** Whether a statement would have waited longer for a lock than `lock_timeout` allows. */
export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseError && sqlState(error.cause) === '55P03';
}

export function postgresFailure(error: unknown, options: PostgresOptions): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const name = nameOf(options);
  const state = sqlState(error);
  const said = errorMessage(error);
  const failure = (code: DatabaseError['code'], words: string): DatabaseError =>
    new DatabaseError(code, `${name} ${words}`, { cause: error });
  if (state === undefined) return wayFailure(error, options, failure);
  const { user, database } = options;
  if (isAboutData(error)) return failure('data', `refuses a row: ${said}${about(error)}`);
  switch (state) {
    case '28P01':
      return failure('misconfigured', `refuses the password of user ${user}; look at perdure.postgres.user and password`);
    case '28000':
      return failure(
        'misconfigured',
        `does not let user ${user} in: ${said}; look at its pg_hba.conf, and at perdure.postgres.user and tls`,
      );
    case '3D000':
      return failure('misconfigured', `has no such database; create it: CREATE DATABASE "${database}" ENCODING 'UTF8' TEMPLATE template0`);
    case '42501':
      return tooFewRights(options, said, error);
    case '42P01':
    case '42703':
    case '3F000':
      return failure('misconfigured', `lacks what our tables have: ${said}; restore a backup, or migrate (perdure.postgres.migrate)`);
    case '25006':
      return failure(
        'unavailable',
        'takes no writes: it is a standby, or default_transaction_read_only is on; the address must lead to the primary',
      );
    case '53100':
      return failure('unavailable', `has no room on its disk: ${said}`);
    case '53300':
      return failure('unavailable', `has no connection left: ${said}; raise its max_connections, or lower perdure.postgres.pool`);
    case '57014':
      return failure('unavailable', `did not end a statement within ${options.timeoutMs} ms`);
    case '57P01':
    case '57P02':
    case '57P03':
      return failure('unavailable', `is stopping or starting: ${said}`);
    case 'XX001':
    case 'XX002':
      return failure('corrupt', `is damaged: ${said}; restore a backup`);
    default:
      if (state.startsWith('42'))
        return failure('misconfigured', `does not take our statement: ${said}; are its tables ours, and unchanged?`);
      return failure('unavailable', `says: ${said} (SQLSTATE ${state})`);
  }
}

export function tooFewRights(options: PostgresOptions, said: string, cause?: unknown): DatabaseError {
  const { user, database } = options;
  const words = `gives user ${user} too few rights: ${said}; its own schema is enough: GRANT CREATE ON DATABASE "${database}" TO "${user}", or let that user own the schema`;
  return new DatabaseError('misconfigured', `${nameOf(options)} ${words}`, { cause });
}

/** The table and constraint, where the server names them; never the row. */
function about(error: unknown): string {
  const { table, constraint } = error as { readonly table?: unknown; readonly constraint?: unknown };
  const words = [table, constraint].filter((word) => typeof word === 'string');
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

/** Codes of Node's TLS: the certificate is not one that we trust. */
const certificateTrouble = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/;

function wayFailure(
  error: unknown,
  { timeoutMs, tls }: PostgresOptions,
  failure: (code: DatabaseError['code'], words: string) => DatabaseError,
): DatabaseError {
  const code = errorCode(error) ?? '';
  const said = reasonOf(error);
  if (/does not support SSL/.test(said)) {
    return failure('misconfigured', 'offers no TLS; turn it on there (ssl = on), or leave perdure.postgres.tls out');
  }
  if (certificateTrouble.test(code) || /altnames|certificate/i.test(said)) {
    return failure('misconfigured', `shows a certificate that is not trusted: ${said}; look at perdure.postgres.tls (caFile, serverName)`);
  }
  if (/password must be a (non-empty )?string|SASL/.test(said)) {
    return failure('misconfigured', `wants a password, or a different one (${said}); look at perdure.postgres.password`);
  }
  if (/timeout/i.test(said) || code === 'ETIMEDOUT') {
    const why = 'it hangs or is overloaded, or something on the way drops packets';
    return failure('unavailable', `did not answer within ${timeoutMs} ms: ${why}`);
  }
  const hint = `is it running, ${tls === undefined ? 'and do host and port lead there' : 'do host and port lead there, and does it speak TLS'}?`;
  return failure('unavailable', `cannot be reached, or the connection was lost: ${said}; ${hint}`);
}

/** Node puts the reasons of several addresses into one error without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorMessage).join('; ');
  return errorMessage(error);
}
