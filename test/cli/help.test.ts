import { describe, expect, test } from 'vitest';
import { wrap } from '../../src/cli/help.ts';
import { run } from './capture.ts';

const commands = [
  [],
  ['server'],
  ['server', 'start-dev'],
  ['server', 'start'],
  ['config'],
  ['config', 'validate'],
  ['config', 'print'],
  ['config', 'schema'],
  ['admin'],
  ['admin', 'state'],
  ['admin', 'visibility', 'rebuild'],
  ['admin', 'dlq'],
  ['admin', 'queue', 'dlq', 'read'],
  ['version'],
];

describe('help', () => {
  test.each(commands.map((words) => ({ words, name: ['perdure', ...words].join('-') })))('of $name', async ({ words, name }) => {
    const { code, out, err } = await run([...words, '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    await expect(out).toMatchFileSnapshot(`fixtures/help/${name}.txt`);
    expect(out).toContain('Examples:');
    expect(out.split('\n').filter((line) => line.length > 100 && !line.includes('perdure '))).toEqual([]);
  });

  test.each([
    { line: [], like: ['--help'] },
    { line: ['-h'], like: ['--help'] },
    { line: ['help'], like: ['--help'] },
    { line: ['server'], like: ['server', '--help'] },
    { line: ['help', 'server', 'start'], like: ['server', 'start', '--help'] },
    { line: ['--help', 'server', 'start'], like: ['server', 'start', '--help'] },
  ])('$line is the same as $like', async ({ line, like }) => {
    expect(await run(line)).toEqual(await run(like));
  });

  test('wraps between words and never loses one', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('incomprehensibilities a', 5)).toEqual(['incomprehensibilities', 'a']);
    expect(wrap('', 5)).toEqual(['']);
  });
});

describe('version', () => {
  test('in one line, also as --version', async () => {
    const { code, out } = await run(['version']);
    expect(code).toBe(0);
    expect(out).toMatch(/^Perdure \d+\.\d+\.\d+\+(?:sources|[0-9a-f]{8}) \(Temporal API 1\.63, Node \d+\.\d+\)\n$/);
    expect((await run(['--version'])).out).toBe(out);
    expect((await run(['-v'])).out).toBe(out);
  });

  test('as JSON', async () => {
    const { out } = await run(['version', '--output', 'json']);
    expect(JSON.parse(out)).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      build: expect.stringMatching(/^\d+\.\d+\.\d+\+sources$/),
      temporalApi: '1.63',
      node: process.versions.node,
    });
  });
});
