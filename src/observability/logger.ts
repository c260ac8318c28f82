/**
 * Structured logs on stderr. Ids are fields, never part of the message; payloads, memo, tokens and passwords are never logged.
 *
 *     text   2026-05-04T10:00:00.000Z  WARN  topic settings differ  topic=perdure.history partition=3
 *     json   {"ts":"2026-05-04T10:00:00.000Z","level":"warn","msg":"topic settings differ","topic":"perdure.history","partition":3}
 *
 * The guide's field names: `namespace`, `workflowID`, `runID`, `shard-id`, `operation`, `error`, `service`, `address`.
 */
import { createRequire } from 'node:module';
import { stackOf } from './stack.ts';
import type { pino as Pino, Logger as PinoLogger } from 'pino';

export const logLevels = ['debug', 'info', 'warn', 'error', 'never'] as const;
export type LogLevel = (typeof logLevels)[number];
/** What a record can have: nothing is ever logged at `never`. */
export type RecordLevel = Exclude<LogLevel, 'never'>;

const logFormats = ['text', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

export type LogFieldValue = string | number | boolean | bigint | undefined | Error;
/** Fields that are undefined are left out. */
export type LogFields = Readonly<Record<string, LogFieldValue>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** True when a record of that level would be written: guards work that only a log line needs. */
  enabled(level: RecordLevel): boolean;
  /** A logger that writes to the same log, with these fields on every record. */
  with(fields: LogFields): Logger;
}

export type LoggerOptions = {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** One line, with its line feed. */
  readonly write: (line: string) => void;
  readonly nowMs: () => number;
};

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, never: 4 };

/** pino writes the records. It takes some 15 ms to load, so it is loaded with the first line and not with the server. */
export function createLogger(options: LoggerOptions): Logger {
  let records: PinoLogger | undefined;
  // That it is not installed is told by the start, not by the first line.
  if (options.level !== 'never') createRequire(import.meta.url).resolve('pino');
  return boundLogger(options.level, () => (records ??= pinoLogger(options)), {});
}

function boundLogger(threshold: LogLevel, records: () => PinoLogger, bound: LogFields): Logger {
  const enabled = (level: RecordLevel): boolean => rank[level] >= rank[threshold];
  const log = (level: RecordLevel, message: string, fields: LogFields): void => {
    if (enabled(level)) records()[level]({ ...bound, ...fields, level, msg: message });
  };
  return {
    debug: (message, fields = {}) => log('debug', message, fields),
    info: (message, fields = {}) => log('info', message, fields),
    warn: (message, fields = {}) => log('warn', message, fields),
    error: (message, fields = {}) => log('error', message, fields),
    enabled,
    with: (fields) => boundLogger(threshold, records, { ...bound, ...fields }),
  };
}

function pinoLogger({ format, write, nowMs }: LoggerOptions): PinoLogger {
  const { pino } = createRequire(import.meta.url)('pino') as { readonly pino: typeof Pino };
  return pino<never>(
    {
      base: null,
      level: 'debug',
      // pino writes a level before the time and the message last; among the fields both stand where people look for them.
      formatters: { level: () => ({}), log: ({ level, msg, ...fields }) => ({ level, msg, ...jsonFields(fields as LogFields) }) },
      timestamp: () => `"ts":"${new Date(nowMs()).toISOString()}"`,
      // An error is told by `jsonFields`, whatever its field is called.
      serializers: { err: (error: unknown) => error },
    },
    { write: format === 'json' ? write : (line) => write(textLine(JSON.parse(line) as JsonRecord)) },
  );
}

type JsonValue = string | number | boolean;
type JsonRecord = { readonly ts: string; readonly level: RecordLevel; readonly msg: string } & Readonly<Record<string, JsonValue>>;

export const silentLogger: Logger = createLogger({ level: 'never', format: 'text', write: () => {}, nowMs: () => 0 });

function jsonFields(fields: LogFields): Record<string, JsonValue> {
  const json: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || name === 'ts') continue;
    if (value instanceof Error) {
      json[name] = describe(value);
      const stack = stackOf(value);
      if (stack !== undefined) json['stacktrace'] = stack;
    } else {
      // JSON has neither NaN nor integers of 64 bits.
      json[name] = typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)) ? String(value) : value;
    }
  }
  return json;
}

/** The record as people read it; a stack is for machines. */
function textLine({ ts, level, msg, stacktrace: _, ...fields }: JsonRecord): string {
  let line = `${ts}  ${level.toUpperCase().padEnd(5)} ${visible(msg.replaceAll(/[\r\n]+/g, ' '))}`;
  let separator = '  ';
  for (const [name, value] of Object.entries(fields)) {
    line += `${separator}${name}=${quoted(String(value))}`;
    separator = ' ';
  }
  return `${line}\n`;
}

/** The error with its causes: what was found, and under it why. */
function describe(error: Error): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; current instanceof Error && depth < 5; depth++) {
    parts.push(current.message === '' ? current.name : current.message);
    current = current.cause;
  }
  return parts.join(': ');
}

/** A value that cannot break out of its line or its field, nor tell the terminal what to do. */
function quoted(text: string): string {
  return /^[^\s"=\\\p{C}]+$/u.test(text) ? text : visible(JSON.stringify(text));
}

/** Control characters, and those that change the direction of what follows, as JSON would write them. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}
