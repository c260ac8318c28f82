/** What `.ci/run` concludes from what its parts left behind: a verdict that forgives too much would hide a loss. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const script = resolve('scripts/ci-report.ts');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ci-report-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

type Left = { readonly exit?: number; readonly log?: string; readonly red?: Readonly<Record<string, string>>; readonly passed?: number };

/** `red`: files by the message of their one red test. */
function part(name: string, { red = {}, exit = Object.keys(red).length > 0 ? 1 : 0, log = '', passed = 10 }: Left): void {
  const files = Object.entries(red).map(([file, message]) => ({
    ...{ name: resolve(file), status: 'failed' },
    assertionResults: [{ status: 'failed', fullName: 'works', failureMessages: [message] }],
  }));
  const green = { name: resolve(`test/${name}.test.ts`), status: 'passed', assertionResults: [] };
  const report = { numPassedTests: passed, numPendingTests: 0, numTodoTests: 0, testResults: [...files, green] };
  mkdirSync(join(folder, 'again'), { recursive: true });
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(report));
  writeFileSync(join(folder, `${name}.log`), log);
  writeFileSync(join(folder, `${name}.exit`), `${exit}\n`);
}

const again = (): string => execFileSync(process.execPath, [script, 'again', folder], { encoding: 'utf8' });

function end(): { readonly code: number | null; readonly out: string } {
  const { status, stdout } = spawnSync(process.execPath, [script, 'end', folder], { encoding: 'utf8' });
  return { code: status, out: stdout };
}

test('all green', () => {
  part('unit-1', { passed: 7 });
  part('kafka', {});
  expect(again()).toBe('');
  expect(end()).toEqual({ code: 0, out: '17 passed, 0 failed\n' });
});

test('a red scenario may run again: green then, it is flaky; red again, it has failed', () => {
  part('workers-2', { red: { 'test/a.sdk.test.ts': 'late' } });
  expect(again()).toBe('workers test/a.sdk.test.ts\n');
  expect(end()).toEqual({ code: 1, out: 'FAILED test/a.sdk.test.ts > works: late\n10 passed, 1 failed\n' });
  part('again/a.sdk', { red: { 'test/a.sdk.test.ts': 'late again' } });
  expect(end().code).toBe(1);
  part('again/a.sdk', {});
  writeFileSync(
    join(folder, 'again/a.sdk.json'),
    JSON.stringify({ numPassedTests: 1, testResults: [{ name: resolve('test/a.sdk.test.ts'), status: 'passed', assertionResults: [] }] }),
  );
  const flaky = 'FLAKY test/a.sdk.test.ts > works: late\n11 passed, 0 failed, 1 flaky (red, then green alone)\n';
  expect(end()).toEqual({ code: 0, out: flaky });
});

test.each<[string, string, Left]>([
  ['simulation', 'simulation', { red: { 'test/a.sim.test.ts': 'lost' } }],
  ['fuzz', 'fuzz', { red: { 'test/a.fuzz.test.ts': 'INTERNAL' } }],
  ['kill -9', 'workers-1', { red: { 'test/a.crash.test.ts': 'lost' } }],
  ['a property', 'unit-1', { red: { 'test/a.test.ts': 'Error: Property failed after 7 tests' } }],
  ['more than three files', 'unit-1', { red: { 'test/a': '', 'test/b': '', 'test/c': '', 'test/d': '' } }],
  ['an error outside of tests beside a red one', 'unit-1', { red: { 'test/a.test.ts': 'x' }, log: 'Unhandled Errors' }],
  ['an error outside of tests', 'unit-1', { exit: 1 }],
])('never asked twice: %s', (_, name, left) => {
  part(name, left);
  part('kafka', { red: { 'test/late.kafka.test.ts': 'late' } });
  expect(again()).toBe('');
  expect(end()).toMatchObject({ code: 1, out: expect.stringMatching(/^FAILED .+\n.* [1-9] failed\n$/s) });
});

test('a part that was killed and left no report has failed', () => {
  writeFileSync(join(folder, 'kafka.exit'), '137\n');
  expect(end()).toMatchObject({
    code: 1,
    out: expect.stringContaining('kafka: an error outside of any test, or no report (exit code 137)'),
  });
});

test('a run that left nothing has failed', () => {
  expect(end()).toEqual({ code: 1, out: 'FAILED no test has passed: the run itself is broken\n0 passed, 1 failed\n' });
});
