import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { differences } from './compare.ts';
import { explainedRows, Judge } from './known-differences.ts';
import { shrunk } from './shrink.ts';

test('each difference that is known has a row in docs/differences.md', () => {
  const lines = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8').split('\n');
  expect(explainedRows.filter((row) => !lines.some((line) => line.startsWith(`| ${row}`)))).toEqual([]);
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

test('a program is shrunk to the steps that it needs', async () => {
  const still = (steps: readonly number[]): Promise<boolean> => Promise.resolve(steps.includes(2) && steps.includes(5));
  expect(await shrunk([1, 2, 3, 4, 5, 6], still)).toEqual([2, 5]);
});
