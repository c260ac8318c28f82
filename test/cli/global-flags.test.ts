/** Flags of every command, wherever they stand; and what a code means. */
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { rootCommand } from '../../src/cli/root-command.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { run } from './capture.ts';

const globals = [
  ...['--output json', '--time-format iso', '--color never', '--log-level error', '--log-format json', '--command-timeout 5s'],
  ...['--client-connect-timeout 1s', '--no-json-shorthand-payloads', '--profile prod', '--config-file x.toml', '--disable-config-file'],
  ...['--disable-config-env', '--quiet', '--yes'],
].flatMap((flag) => flag.split(' '));

function leaves(command: Command, words: readonly string[]): readonly (readonly string[])[] {
  if (command.run !== undefined) return [words];
  return (command.subcommands ?? []).flatMap((child) => leaves(child, [...words, child.name]));
}

test.each(leaves(rootCommand, []).map((words) => [words.join(' '), words] as const))(
  '%s takes them before its words and behind',
  (_, words) => {
    for (const line of [
      [...globals, ...words],
      [...words, ...globals],
    ]) {
      const { path, flags } = parseCommandLine(rootCommand, line);
      expect(path.slice(1).map(({ name }) => name)).toEqual(words);
      expect([flags.one('output'), flags.one('color'), flags.switched('yes')]).toEqual(['json', 'never', true]);
    }
  },
);

test.each([
  ['--color purple', '--color: expected always, never or auto, got "purple"'],
  ['--time-format is', '--time-format: expected relative, iso or raw, got "is"\nDid you mean iso?'],
  ['--log-format xml', '--log-format: expected text, json or pretty, got "xml"'],
])('version %s: a value that there is not is refused', async (flags, text) => {
  const { code, err } = await run(['version', ...flags.split(' ')]);
  expect([code, err]).toEqual([2, expect.stringContaining(text)]);
});

test('--output has the same formats with each command that prints what was asked for', async () => {
  const file = 'examples/config/file.yaml';
  for (const line of ['version', 'errors 3', `config print ${file}`, `config validate ${file}`]) {
    const words = line.split(' ');
    const as = async (format: string) => (await run([...words, '-o', format])).out;
    const [json, jsonl] = [await as('json'), await as('jsonl')];
    expect(JSON.parse(jsonl), line).toEqual(JSON.parse(json));
    expect(jsonl.trimEnd().split('\n'), line).toHaveLength(1);
    expect(await as('none'), line).toBe('');
    expect(await as('text'), line).not.toBe('');
  }
});

test('config validate tells programs what people read', async () => {
  const { code, out, err } = await run(['config', 'validate', '-o', 'json', 'test/cli/fixtures/wrong-config.yaml']);
  expect({ code, err }).toEqual({ code: 2, err: '' });
  expect(JSON.parse(out)).toEqual({
    file: 'test/cli/fixtures/wrong-config.yaml',
    ok: false,
    problems: [
      {
        severity: 'error',
        file: 'test/cli/fixtures/wrong-config.yaml',
        line: 2,
        column: 13,
        key: 'log.encoding',
        message: expect.stringContaining('jsn'),
      },
      {
        severity: 'warning',
        file: 'test/cli/fixtures/wrong-config.yaml',
        line: 3,
        column: 10,
        key: 'log.level',
        message: 'unknown level "verbose"; info is used',
      },
      {
        severity: 'error',
        file: 'test/cli/fixtures/wrong-config.yaml',
        line: 8,
        column: 15,
        key: 'perdure.kafka.tls.caFile',
        message: expect.stringContaining('nowhere.pem'),
      },
      {
        severity: 'error',
        file: 'test/cli/fixtures/wrong-config.yaml',
        line: 9,
        column: 24,
        key: 'perdure.kafka.sasl.mechanism',
        message: expect.any(String),
      },
    ],
    connections: [],
  });
});

test('a flag that a command has itself means its own', () => {
  const { flags } = parseCommandLine(rootCommand, ['server', 'start', '--config-file', 'server.yaml']);
  expect([flags.one('config'), flags.one('config-file')]).toEqual(['server.yaml', undefined]);
});

describe('perdure errors', () => {
  test.each(['NOT_FOUND', 'not-found', 'NotFound'])('%s says what it means and what to do', async (code) => {
    const { out } = await run(['errors', code]);
    expect(out).toMatch(/^NOT_FOUND\nThe named queue, .* does not exist\.\nperdure admin queue dlq list .*\n$/);
  });

  test('without a code lists all, also for programs', async () => {
    expect((await run(['errors'])).out).toMatch(/^CODE +MEANS\n(?=NOT_FOUND )/);
    const all = JSON.parse((await run(['errors', '-o', 'json'])).out) as readonly { readonly code: string }[];
    expect(all.map(({ code }) => code)).toEqual(expect.arrayContaining(['130', 'OutcomeUnknown', 'UNAVAILABLE', 'namespace-deleted']));
  });

  test.each(['loop-guard', 'undecodable', 'being-merged', 'being-executed', 'undo-window-over', 'its record is gone'])(
    'knows %s, why a job has left a message where it was',
    async (reason) => {
      expect(await run(['errors', reason])).toMatchObject({ code: 0, out: expect.stringContaining(`${reason}\n`) });
    },
  );

  test('of a code that nobody knows', async () => {
    expect(await run(['errors', 'NOT_FUND'])).toMatchObject({ code: 1, err: expect.stringContaining('Did you mean NOT_FOUND?') });
  });
});
