/**
 * Structured logs on stderr. Ids are fields, never part of the message; payloads, memo, tokens and passwords are never logged.
 *
 *     text   2026-05-04T10:00:00.000Z  WARN  topic settings differ  topic=perdure.history partition=3
 *     json   {"ts":"2026-05-04T10:00:00.000Z","level":"warn","msg":"topic settings differ","topic":"perdure.history","partition":3}
 *
 * The guide's field names: `namespace`, `workflowID`, `runID`, `shard-id`, `operation`, `error`, `service`, `address`.
 */
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
  /** The same log, with these fields on every record. */
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

export function createLogger(options: LoggerOptions, bound: LogFields = {}): Logger {
  const threshold = rank[options.level];
  const log = (level: RecordLevel, message: string, fields: LogFields): void => {
    if (rank[level] < threshold) return;
    const ts = new Date(options.nowMs()).toISOString();
    const all = { ...bound, ...fields };
    options.write(options.format === 'json' ? jsonLine(ts, level, message, all) : textLine(ts, level, message, all));
  };
  return {
    debug: (message, fields = {}) => log('debug', message, fields),
    info: (message, fields = {}) => log('info', message, fields),
    warn: (message, fields = {}) => log('warn', message, fields),
    error: (message, fields = {}) => log('error', message, fields),
    enabled: (level) => rank[level] >= threshold,
    with: (fields) => createLogger(options, { ...bound, ...fields }),
  };
}

/** For tests and tools that want silence. */
export const silentLogger: Logger = createLogger({ level: 'never', format: 'text', write: () => {}, nowMs: () => 0 });

function textLine(ts: string, level: RecordLevel, message: string, fields: LogFields): string {
  let line = `${ts}  ${level.toUpperCase().padEnd(5)} ${oneLine(message)}`;
  let separator = '  ';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    line += `${separator}${name}=${quoted(value instanceof Error ? describe(value) : String(value))}`;
    separator = ' ';
  }
  return `${line}\n`;
}

function jsonLine(ts: string, level: RecordLevel, message: string, fields: LogFields): string {
  const record: Record<string, unknown> = { ts, level, msg: message };
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || name in record) continue;
    if (value instanceof Error) {
      record[name] = describe(value);
      if (value.stack !== undefined) record['stacktrace'] = value.stack;
    } else {
      record[name] = typeof value === 'bigint' ? value.toString() : value;
    }
  }
  return `${JSON.stringify(record)}\n`;
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

function oneLine(text: string): string {
  return visible(text.replaceAll(/[\r\n]+/g, ' '));
}

/** Control characters, and those that change the direction of what follows, as JSON would write them. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}
