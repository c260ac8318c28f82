import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandGroups } from './cli-commands.ts';
import { differences } from './compare.ts';
import { CliJudge, knownLines } from './known-cli-differences.ts';
import { explainedRows, Judge } from './known-differences.ts';
import { shrunk } from './shrink.ts';

test('each difference that is known has a row in docs/differences.md', () => {
  const lines = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8').split('\n');
  const rows = [...explainedRows, ...knownLines.map(({ row }) => row)];
  expect(rows.filter((row) => !lines.some((line) => line.startsWith(`| ${row}`)))).toEqual([]);
});

test('each command of the CLI with a known difference is one that is asked', () => {
  const asked = Object.values(commandGroups).flatMap((group) => group.map((words) => words.filter((word) => word !== '~').join(' ')));
  expect(knownLines.map(({ command }) => command).filter((command) => !asked.includes(command))).toEqual([]);
});

test('a refusal differs from an answer once, by its text; two answers differ by their fields', () => {
  const refused = { code: 5, message: 'workflow not found', response: undefined };
  const answered = { code: 0, message: '', response: { runId: 'a', status: 'x' } };
  expect(differences(refused, answered)).toEqual([
    { path: 'outcome', ours: 'NOT_FOUND workflow not found', theirs: 'OK {"runId":"a","status":"x"}' },
  ]);
  expect(differences(answered, { ...answered, response: { runId: 'b', status: 'x' } })).toEqual([
    { path: 'response.runId', ours: 'a', theirs: 'b' },
  ]);
});

test('a rule hides what it names, of the call that it names', () => {
  const found = [{ path: 'outcome', ours: 'INVALID_ARGUMENT UpdateId is not set on request.', theirs: 'NOT_FOUND update "" not found' }];
  const judge = new Judge();
  const asked = (what: string) => ({ what, request: {}, before: [] });
  expect(judge.judged(asked('PollWorkflowExecutionUpdate'), found).reported).toEqual([]);
  expect(judge.judged(asked('UpdateWorkflowExecution'), found).reported).toEqual(found);
});

test('lines that the CLI prints otherwise are explained one by one, and never an exit code', () => {
  const command = 'operator cluster describe';
  const judge = new CliJudge();
  expect(judge.outdated([command])).toEqual(knownLines.filter((known) => known.command === command));
  const theirs = 'exit 0\n  ClusterName  PersistenceStore\n  active  sqlite  sqlite\n';
  const ours = theirs.replace('sqlite', 'embedded');
  expect(judge.isExplained('operator cluster list', ours, theirs)).toBe(false);
  expect(judge.isExplained(command, ours.replace('exit 0', 'exit 1'), theirs)).toBe(false);
  expect(judge.isExplained(command, `${ours}panic: nil pointer\n`, theirs)).toBe(false);
  expect(judge.isExplained(command, 'exit 2\nError: internal server error', theirs)).toBe(false);
  expect(judge.isExplained(command, ours, theirs)).toBe(true);
  expect(judge.outdated([command])).toEqual([]);
  expect(knownLines.filter(({ lines }) => lines.test('exit 1'))).toEqual([]);
});

test('a program is shrunk to the steps that it needs', async () => {
  const still = (steps: readonly number[]): Promise<boolean> => Promise.resolve(steps.includes(2) && steps.includes(5));
  expect(await shrunk([1, 2, 3, 4, 5, 6], still)).toEqual([2, 5]);
});
