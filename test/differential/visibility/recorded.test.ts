/**
 * Data sets and what Temporal's server answered to them (`node test/differential/visibility.ts --start temporal --sets 4 --record`): the same
 * workflows, the same filters, and the same answers here.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryServer } from '../../support/memory-server.ts';
import { Api } from '../api.ts';
import type { DataSet } from './data-set.ts';
import { answersOtherwise } from './known-differences.ts';
import { prepare } from '../prepare.ts';
import { play, type Played } from './play.ts';
import { attributeTypes } from './workflows.ts';

type Recorded = {
  readonly server: string;
  readonly sets: readonly { readonly set: DataSet; readonly played: readonly Played[] }[];
};

const recorded = JSON.parse(readFileSync(new URL('fixtures/recorded-answers.json', import.meta.url), 'utf8')) as Recorded;

describe(`what Temporal's server ${recorded.server} answered`, () => {
  test('is what this one answers, to everything that is listed and counted', async () => {
    const server = await memoryServer({ historyShards: 4 });
    onTestFinished(() => server.stop());
    const api = new Api(server.address);
    onTestFinished(() => api.close());
    await prepare(api, attributeTypes);
    for (const { set, played } of recorded.sets) {
      const ours = await play(api, set, { isImmediate: true });
      const answers = ours.map((one, index) => {
        const theirs = played[index];
        return theirs !== undefined && answersOtherwise(one, theirs) ? theirs : one;
      });
      expect(answers, `data set ${set.seed}`).toEqual(played);
    }
    expect(recorded.sets.length).toBeGreaterThanOrEqual(4);
  });
});
