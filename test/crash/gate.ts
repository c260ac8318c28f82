/**
 * The crash gate before a release: 50 rounds on a file, 50 on Kafka, 200 with zombies. Prints one line of JSON per campaign and exits
 * with 1 on the first violation. `npm run gate -- [file|kafka|zombie …] [--seed N] [--rounds N]`
 */
import { parseArgs } from 'node:util';
import { startKafka } from '../kafka/broker.ts';
import { type CampaignReport, fileCampaign, kafkaCampaign, zombieCampaign } from './crash-rounds.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, rounds: { type: 'string' } },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const gateRounds = { file: 50, kafka: 50, zombie: 200 } as const;
const wanted = positionals.length === 0 ? Object.keys(gateRounds) : positionals;

let failed = false;
function report(campaign: CampaignReport, startedMs: number): void {
  console.log(JSON.stringify({ ...campaign, seconds: Math.round((Date.now() - startedMs) / 1000) }));
  failed ||= campaign.violations.length > 0;
}

if (wanted.includes('file')) {
  const startedMs = Date.now();
  report(await fileCampaign({ rounds: Number(values.rounds ?? gateRounds.file), seed }), startedMs);
}
if (wanted.includes('kafka') || wanted.includes('zombie')) {
  const kafka = await startKafka();
  if (kafka.brokers === undefined) throw new Error(`the gate needs Kafka: ${kafka.reason}`);
  try {
    for (const name of ['kafka', 'zombie'] as const) {
      if (!wanted.includes(name)) continue;
      const startedMs = Date.now();
      const run = name === 'kafka' ? kafkaCampaign : zombieCampaign;
      report(await run({ rounds: Number(values.rounds ?? gateRounds[name]), seed, brokers: kafka.brokers }), startedMs);
    }
  } finally {
    await kafka.stop();
  }
}
process.exitCode = failed ? 1 : 0;
