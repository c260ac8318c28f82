/** Topics that come while the server serves: made in order, tried again, and served once. */
import { expect, test } from 'vitest';
import { TopicOpener, type WantedTopic } from '../../../src/actors/deadletters/topic-opener.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { turns } from '../../support/event-loop.ts';
import { HandClock } from '../../support/hand-clock.ts';

class Topics {
  readonly clock = new HandClock();
  readonly warnings: (string | undefined)[] = [];
  readonly served: string[] = [];
  readonly refused = new Set<string>();
  readonly opener = new TopicOpener({
    log: {
      addTopic: async ({ name }) => {
        if (this.refused.has(name)) throw new Error('no rights');
      },
    },
    clock: this.clock,
    logger: { ...silentLogger, warn: (message, fields) => void this.warnings.push(`${message} ${String(fields?.['topic'])}`) },
  });

  wanted(name: string): WantedTopic {
    const serve = (): void => void this.served.push(name);
    return { topic: { name, partitions: 1, purpose: '' }, serve, warning: 'letters wait', logFields: {} };
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await turns(4);
  }
}

test('a topic that cannot be made holds up no other; it is tried until it can, and reported once a minute', async () => {
  const topics = new Topics();
  topics.refused.add('b');
  topics.opener.open(['a', 'b', 'c'].map((name) => topics.wanted(name)));
  await turns(4);
  expect(topics.served).toEqual(['a', 'c']);
  expect(topics.opener.closed).toEqual([{ topic: 'b', reason: 'no rights' }]);
  for (let tries = 0; tries < 20; tries++) await topics.pass(1_000);
  expect(topics.warnings).toEqual(['letters wait b']);
  topics.refused.clear();
  await topics.pass(60_000);
  expect(topics.served).toEqual(['a', 'c', 'b']);
  expect(topics.opener.closed).toEqual([]);
});

test('a topic that is wanted twice is served once, and after the end none is', async () => {
  const topics = new Topics();
  topics.refused.add('b');
  topics.opener.open([topics.wanted('a'), topics.wanted('b')]);
  topics.opener.open([topics.wanted('a')]);
  await turns(4);
  topics.opener.close();
  topics.refused.clear();
  topics.opener.open([topics.wanted('c')]);
  await topics.pass(120_000);
  expect(topics.served).toEqual(['a']);
});
