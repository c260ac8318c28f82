import { describe, expect, inject, test } from 'vitest';
import type { CampaignReport } from './crash-rounds.ts';
import { seed } from '../support/seed.ts';
import { fileCampaign, kafkaCampaign, postgresCampaign, postgresZombieCampaign, stateCampaign, zombieCampaign } from './crash-rounds.ts';
import { canStartPostgres } from '../postgres/postgres.ts';

/** Enough to meet each fault a few times: many more rounds are the gate's (docs/crash-gate.md), whose seeds are new each time. */
const rounds = { file: 4, state: 4, kafka: 4, postgres: 3, zombie: 4, postgresZombie: 3 };
const MINUTES = 60_000;

describe('servers die under load and lose nothing', async () => {
  test(`kill -9, journals in a file (${rounds.file} rounds)`, { timeout: 5 * MINUTES }, async () => {
    judge(await fileCampaign({ rounds: rounds.file, seed }));
  });

  const kafka = inject('kafka');
  const brokers = 'brokers' in kafka ? kafka.brokers : [];
  const onKafka = 'brokers' in kafka ? test : test.skip;

  onKafka(`kill -9, journals on Kafka (${rounds.kafka} rounds)`, { timeout: 5 * MINUTES }, async () => {
    judge(await kafkaCampaign({ rounds: rounds.kafka, seed, brokers }));
  });

  test(
    `kill -9, with a checkpoint every 50 records and nothing in memory that is written (${rounds.state} rounds)`,
    { timeout: 5 * MINUTES },
    async () => {
      judge(await stateCampaign({ rounds: rounds.state, seed }));
    },
  );

  const noPostgres = await canStartPostgres();
  if (noPostgres !== undefined) console.warn(`SKIPPED: crash rounds with PostgreSQL: ${noPostgres}`);
  const onPostgres = noPostgres === undefined ? onKafka : test.skip;

  onPostgres(`the server, PostgreSQL or both die, state beside Kafka (${rounds.postgres} rounds)`, { timeout: 5 * MINUTES }, async () => {
    judge(await postgresCampaign({ rounds: rounds.postgres, seed, brokers }));
  });

  onPostgres(
    `a frozen owner wakes up with its connections to PostgreSQL (${rounds.postgresZombie} rounds)`,
    { timeout: 5 * MINUTES },
    async () => {
      judge(await postgresZombieCampaign({ rounds: rounds.postgresZombie, seed, brokers }));
    },
  );

  onKafka(`a frozen owner wakes up after its successor began (${rounds.zombie} rounds)`, { timeout: 8 * MINUTES }, async () => {
    judge(await zombieCampaign({ rounds: rounds.zombie, seed, brokers }));
  });
});

function judge(report: CampaignReport): void {
  const { campaign, seed, workflows, runs, resets, updates, calls, violations } = report;
  const followed = `${runs} runs, ${resets} resets, updates ${updates.completed} completed ${updates.refused} refused`;
  const told = `${workflows} workflows, ${followed}, calls ${calls.ok} ok ${calls.fail} refused ${calls.unknown} unknown`;
  console.log(`${campaign}: seed ${seed}, ${told}`);
  expect(violations).toEqual([]);
  expect(runs, 'no run followed another').toBeGreaterThan(workflows);
  expect(updates.completed, 'no update was completed').toBeGreaterThan(0);
  expect(calls.unknown, 'no call met a fault: the kills hit nothing').toBeGreaterThan(0);
}
