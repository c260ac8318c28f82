/** The actor of jobs beside a server that serves: its topic comes, and its gauges tell what there is. */
import { ownWork } from '../../src/actors/asks/asks.ts';
import { expect, test } from 'vitest';
import { Router } from '../../src/actors/asks/router.ts';
import { systemClock, systemRandom } from '../../src/ports/system-ports.ts';
import { QueueCore } from '../../src/deadletters/queue-core.ts';
import type { DeadLetterReply } from '../../src/deadletters/letter-commands.ts';
import type { JobsReplyTo, JobsRequest } from '../../src/deadletters/jobs/job.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { MetricsRegistry } from '../../src/observability/metrics/metrics.ts';
import { deadLetterJobs } from '../../src/start/dead-letter-jobs.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { FAR_AWAY_MS } from '../actors/far-away.ts';
import { jsonClaims } from '../actors/ledger.ts';
import { planOf, queue } from '../deadletters/jobs/plans.ts';
import { turns } from '../support/event-loop.ts';

test('jobs are counted by what they do and how they are, and not at all once nobody serves them', async () => {
  const log = await openEmbeddedLog({ filename: undefined, topics: [] });
  const router = new Router(systemClock);
  const metrics = new MetricsRegistry();
  const common = { owner: 'test', claims: jsonClaims, clock: systemClock, random: systemRandom, logger: silentLogger };
  const settings = () => ({ requiresReason: false, lettersPerStepMax: 100 });
  const jobs = deadLetterJobs({ ...common, log, prefix: 'perdure', router, settings, metrics: metrics.of('worker') });
  // A queue without letters.
  router.deadLetters.attach(queue.number, {
    submit: (askId, request) => {
      const { reply } = new QueueCore().handle({ kind: 'countLetters' }, 0, 1) as { readonly reply: DeadLetterReply };
      const answer: DeadLetterReply = request.kind === 'countLetters' ? reply : { kind: 'letterIds', ids: [], isLast: true };
      systemClock.soon(() => router.deadLetters.sink(queue.number).answer(askId, answer));
      return undefined;
    },
    cancel: () => {},
  });
  const series = (): readonly string[] =>
    [...(metrics.scraped().get('perdure_dlq_jobs') ?? [])].map(({ tags, cell }) => {
      return `${tags['operation']} ${tags['state']} ${'value' in cell ? cell.value : ''}`;
    });
  const ask = async <Request extends JobsRequest>(request: Request): Promise<JobsReplyTo[Request['kind']]> => {
    for (;;) {
      const answer = await new Promise<{ readonly kind: string }>((resolve) => router.askJobs(request, ownWork(FAR_AWAY_MS), resolve));
      if (answer.kind !== 'notHere') return answer as JobsReplyTo[Request['kind']];
      await turns();
    }
  };
  expect(series()).toEqual([]);
  jobs.open();
  const { plan } = await ask(planOf({ operation: 'purge' }));
  await ask({ kind: 'applyPlan', planId: plan.planId, hash: undefined });
  expect(series()).toEqual(expect.arrayContaining(['purge completed 1', 'purge running 0', 'merge completed 0']));
  await jobs.stop();
  expect(series()).toEqual([]);
  router.close();
  await log.close();
});
