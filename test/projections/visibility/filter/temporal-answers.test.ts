import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../../../src/projections/visibility/filter/parse-query.ts';
import { askedAttributes, askedQueries, otherAnswers } from './asked-queries.ts';

const recorded = JSON.parse(readFileSync(new URL('fixtures/recorded-answers.json', import.meta.url), 'utf8')) as {
  readonly server: string;
  readonly answers: Readonly<Record<string, string>>;
};

function answerTo(query: string): string {
  const parsed = parseQuery(query, askedAttributes);
  return parsed.kind === 'invalid' ? parsed.message : '';
}

describe(`what Temporal's server ${recorded.server} says`, () => {
  test('each query was asked', () => expect(Object.keys(recorded.answers).toSorted()).toEqual([...new Set(askedQueries)].toSorted()));

  test.each(Object.entries(recorded.answers).filter(([query]) => !otherAnswers.has(query)))('to %j', (query, answer) => {
    expect(answerTo(query)).toBe(answer);
  });

  test.each([...otherAnswers])('but not to %j: %s', (query) => {
    expect(answerTo(query)).not.toBe(recorded.answers[query]);
  });
});
