import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { rootCommand } from '../../src/cli/root-command.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { run } from './capture.ts';

const startDev = ['server', 'start-dev'];

describe('a command line', () => {
  test.each([
    { line: ['-p', '1', 'server', 'start-dev'], why: 'a short flag before the words' },
    { line: ['server', '--port', '1', 'start-dev'], why: 'between them' },
    { line: ['server', 'start-dev', '--port=1'], why: 'after them, with an equals sign' },
    { line: ['server', 'start-dev', '-p1'], why: 'glued to its value' },
    { line: ['server', 'start-dev', '--port', '9', '--port', '1'], why: 'given twice: the last one counts' },
  ])('may have flags anywhere: $why', ({ line }) => {
    const parsed = parseCommandLine(rootCommand, line);
    expect(parsed.path.map((command) => command.name)).toEqual(['perdure', 'server', 'start-dev']);
    expect(parsed.flags.one('port')).toBe('1');
  });

  test('gathers flags that repeat, in order', () => {
    const { flags } = parseCommandLine(rootCommand, [...startDev, '-n', 'a', '--namespace=b', '-n', 'c']);
    expect(flags.all('namespace')).toEqual(['a', 'b', 'c']);
  });

  test.each([
    ['--headless', 'headless', true],
    ['--headless=true', 'headless', true],
    ['--headless=false', 'headless', false],
    ['--role-ports', 'role-ports', true],
    ['--no-role-ports', 'role-ports', false],
  ])('reads the switch %s', (word, name, value) => {
    expect(parseCommandLine(rootCommand, [...startDev, word]).flags.switched(name)).toBe(value);
  });

  test('knows a flag by its other name', () => {
    expect(parseCommandLine(rootCommand, ['server', 'start', '--config-file', 'x.yaml']).flags.one('config')).toBe('x.yaml');
  });

  test.each([
    'namespace register orders --clusters a b --active-cluster a',
    'namespace register --clusters a b orders',
    '--active-cluster x namespace register --clusters a --clusters b orders',
  ])('takes several values behind a flag that has many: %s', (line) => {
    const { path, flags, args } = parseCommandLine(rootCommand, line.split(' '));
    expect([path.at(-1)?.name, flags.all('clusters'), args]).toEqual(['register', ['a', 'b'], ['orders']]);
  });

  test('any value survives the way through, when written with an equals sign', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (values) => {
        const line = [...startDev, ...values.map((value) => `--namespace=${value}`)];
        expect(parseCommandLine(rootCommand, line).flags.all('namespace')).toEqual(values);
      }),
    );
  });
});

describe('a wrong command line ends with 2 and says what was meant', () => {
  test.each([
    {
      line: ['sever'],
      err: 'perdure: unknown command "sever" for "perdure"\nDid you mean "server"?\nRun \'perdure --help\' for the list of commands.\n',
    },
    {
      line: ['server', 'strat-dev'],
      err: 'perdure: unknown command "strat-dev" for "perdure server"\nDid you mean "start-dev"?\nRun \'perdure server --help\' for the list of commands.\n',
    },
    {
      line: ['workflow', 'list'],
      err: 'perdure: unknown command "workflow" for "perdure"\nThe Temporal CLI does that, against this server too: temporal workflow …\nRun \'perdure --help\' for the list of commands.\n',
    },
    {
      line: ['sever', '--port', '1'],
      err: 'perdure: unknown command "sever" for "perdure"\nDid you mean "server"?\nRun \'perdure --help\' for the list of commands.\n',
    },
    {
      line: [...startDev, '--prot', '1'],
      err: 'perdure: unknown flag --prot for "perdure server start-dev"\nDid you mean --port?\nRun \'perdure server start-dev --help\' for the list of flags.\n',
    },
    {
      line: [...startDev, '--namspace=x'],
      err: 'perdure: unknown flag --namspace for "perdure server start-dev"\nDid you mean --namespace?\nRun \'perdure server start-dev --help\' for the list of flags.\n',
    },
    {
      line: [...startDev, '--db-file', 'x'],
      err: 'perdure: unknown flag --db-file for "perdure server start-dev"\nDid you mean --db-filename?\nRun \'perdure server start-dev --help\' for the list of flags.\n',
    },
    {
      line: [...startDev, '-z'],
      err: 'perdure: unknown flag -z for "perdure server start-dev"\nRun \'perdure server start-dev --help\' for the list of flags.\n',
    },
    {
      line: ['server', 'start', '--headless'],
      err: 'perdure: unknown flag --headless for "perdure server start"\nRun \'perdure server start --help\' for the list of flags.\n',
    },
    {
      line: [...startDev, 'now'],
      err: 'perdure: unexpected argument "now" for "perdure server start-dev"\nRun \'perdure server start-dev --help\' for usage.\n',
    },
    {
      line: ['config', 'validate'],
      err: 'perdure: FILE is missing for "perdure config validate"\nRun \'perdure config validate --help\' for usage.\n',
    },
    { line: [...startDev, '--port'], err: 'perdure: --port needs a value (PORT)\n' },
    {
      line: [...startDev, '--port', '--headless'],
      err: 'perdure: --port needs a value (PORT)\nWhat follows it, "--headless", looks like another flag.\nFor a value that begins with a dash write --port=--headless.\n',
    },
    {
      line: [...startDev, '-p', '-1'],
      err: 'perdure: -p needs a value (PORT)\nWhat follows it, "-1", looks like another flag.\nFor a value that begins with a dash write --port=-1.\n',
    },
    {
      line: [...startDev, '--headless=maybe'],
      err: 'perdure: --headless is a switch, got the value "maybe"\nWrite --headless, --headless=true or --headless=false.\n',
    },
    { line: ['version', '-o', 'jsno'], err: 'perdure: --output: expected json, jsonl, text or none, got "jsno"\nDid you mean json?\n' },
  ])('$line', async ({ line, err }) => {
    expect(await run(line)).toEqual({ code: 2, out: '', err, started: [] });
  });
});

test('a flag means the same in every command, for the words can only be distinguished by knowing which flags take a value', () => {
  const kinds = new Map<string, string>();
  const differing: string[] = [];
  const visit = (command: Command): void => {
    for (const flag of command.flags ?? []) {
      for (const name of [flag.name, flag.short ?? '', ...(flag.aliases ?? [])].filter((text) => text !== '')) {
        const kind = `${flag.value === undefined ? 'switch' : 'value'} ${flag.name}`;
        if ((kinds.get(name) ?? kind) !== kind) differing.push(`${name}: ${kinds.get(name)} and ${kind}`);
        kinds.set(name, kind);
      }
    }
    for (const child of command.subcommands ?? []) visit(child);
  };
  visit(rootCommand);
  expect(differing).toEqual([]);
});
