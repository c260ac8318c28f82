import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createLogger,
  logLevels,
  silentLogger,
  type LogFields,
  type LogFormat,
  type Logger,
  type LogLevel,
} from '../../src/observability/logger.ts';

function capture(level: LogLevel, format: LogFormat): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  return { lines, logger: createLogger({ level, format, write: (line) => void lines.push(line), nowMs: () => Date.UTC(2026, 4, 4, 10) }) };
}

describe('the logger', () => {
  test('text: time, level, message, fields', () => {
    const { logger, lines } = capture('debug', 'text');
    logger.warn('topic settings differ', { topic: 'perdure.history', partition: 3, reason: 'two words', empty: '', missing: undefined });
    expect(lines).toEqual([
      '2026-05-04T10:00:00.000Z  WARN  topic settings differ  topic=perdure.history partition=3 reason="two words" empty=""\n',
    ]);
  });

  test('json: the guide’s keys', () => {
    const { logger, lines } = capture('debug', 'json');
    logger.info('serving', { address: 'localhost:7233', offset: 2n ** 60n, missing: undefined });
    expect(lines).toEqual([
      '{"ts":"2026-05-04T10:00:00.000Z","level":"info","msg":"serving","address":"localhost:7233","offset":"1152921504606846976"}\n',
    ]);
  });

  test('an error with its causes, and its stack in JSON', () => {
    const error = new Error('append failed', { cause: new Error('connection lost') });
    const text = capture('debug', 'text');
    text.logger.error('partition stopped', { error });
    expect(text.lines[0]).toContain('error="append failed: connection lost"');
    const json = capture('debug', 'json');
    json.logger.error('partition stopped', { error });
    expect(JSON.parse(json.lines[0] ?? '')).toMatchObject({
      error: 'append failed: connection lost',
      stacktrace: expect.stringContaining('logger.test'),
    });
  });

  test.each(logLevels)('at %s writes that level and above', (level) => {
    const { logger, lines } = capture(level, 'json');
    const levels = ['debug', 'info', 'warn', 'error'] as const;
    for (const each of levels) logger[each]('x');
    const expected = level === 'never' ? [] : levels.slice(levels.indexOf(level));
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(expected);
    expect(levels.filter((each) => logger.enabled(each))).toEqual(expected);
  });

  test('with() adds fields to every record; the nearer one wins', () => {
    const { logger, lines } = capture('debug', 'text');
    logger.with({ 'shard-id': 3, operation: 'a' }).with({ namespace: 'orders' }).info('x', { operation: 'b' });
    expect(lines[0]).toMatch(/ x {2}shard-id=3 operation=b namespace=orders\n$/);
  });

  test('one record is one line, and no value breaks out of it', () => {
    const fields = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string());
    fc.assert(
      fc.property(fc.string(), fields, (message, values: LogFields) => {
        for (const format of ['text', 'json'] as const) {
          const { logger, lines } = capture('debug', format);
          logger.info(message, values);
          expect(lines).toHaveLength(1);
          expect(lines[0]?.match(/[\r\n]/g)).toEqual(['\n']);
        }
      }),
    );
  });

  test('text: what a client may call a workflow tells no terminal what to do', () => {
    const { logger, lines } = capture('debug', 'text');
    logger.warn('refused\u001b[2J', { namespace: 'a\u001b[31mred', workflowID: 'b\u009b1A', runID: 'c\u202ed', ok: 'grün' });
    expect(lines).toEqual([
      '2026-05-04T10:00:00.000Z  WARN  refused\\u001b[2J  namespace="a\\u001b[31mred" workflowID="b\\u009b1A" runID="c\\u202ed" ok=grün\n',
    ]);
  });

  test('JSON gives back what went in', () => {
    const names = fc.stringMatching(/^[a-z]{1,8}$/).filter((name) => !['ts', 'level', 'msg'].includes(name));
    fc.assert(
      fc.property(fc.dictionary(names, fc.oneof(fc.string(), fc.integer(), fc.boolean())), (values) => {
        const { logger, lines } = capture('debug', 'json');
        logger.info('x', values);
        expect(JSON.parse(lines[0] ?? '')).toEqual({ ts: '2026-05-04T10:00:00.000Z', level: 'info', msg: 'x', ...values });
      }),
    );
  });

  test('the silent one writes nothing', () => {
    expect(silentLogger.enabled('error')).toBe(false);
  });

  test('numbers that JSON does not know are said all the same', () => {
    for (const format of ['text', 'json'] as const) {
      const { logger, lines } = capture('debug', format);
      logger.info('x', { rate: NaN, wait: Infinity });
      expect(lines[0]).toMatch(/rate\W+NaN\W+wait\W+Infinity/);
    }
  });

  test('pino is loaded with the first line, not with the server', async () => {
    const logger = JSON.stringify(new URL('../../src/observability/logger.ts', import.meta.url).href);
    const program = `
      import { createRequire } from 'node:module';
      import { createLogger } from ${logger};
      const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/pino/'));
      const log = createLogger({ level: 'warn', format: 'text', write: () => {}, nowMs: () => 0 }).with({ a: 1 });
      log.info('below the level');
      const before = loaded();
      log.warn('a line');
      console.log(before, loaded());
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    expect(stdout.trim()).toBe('false true');
  });
});
