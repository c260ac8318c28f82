import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  type Campaign,
  type CampaignOptions,
  type CampaignReport,
  fileCampaign,
  kafkaCampaign,
  postgresCampaign,
  postgresZombieCampaign,
  stateCampaign,
  zombieCampaign,
} from './crash-rounds.ts';
import { announcement, type GateArguments, gateUsage, readGateArguments } from './gate-arguments.ts';
import { startKafka } from '../kafka/broker.ts';

const ROUNDS_PER_LINE = 10;

const read = readGateArguments(process.argv.slice(2));
switch (read.kind) {
  case 'help':
    console.log(gateUsage);
    break;
  case 'wrong':
    console.error(`gate: ${read.message}\n\n${gateUsage}`);
    process.exitCode = 2;
    break;
  case 'run':
    process.exitCode = (await runGate(read)) ? 0 : 1;
}

/** One line of JSON per campaign; on stderr what it is about. True when no invariant was violated. */
async function runGate({ campaigns, seed, rounds }: GateArguments): Promise<boolean> {
  console.error(announcement({ campaigns, seed, rounds }));
  const needsKafka = campaigns.some((name) => name !== 'file' && name !== 'state' && name !== 'simulation');
  const kafka = needsKafka ? await startKafka() : undefined;
  if (kafka !== undefined && kafka.brokers === undefined) throw new Error(`the gate needs Kafka: ${kafka.reason}`);
  let violations = 0;
  try {
    for (const name of campaigns) {
      const startedMs = Date.now();
      const secondsPassed = (): number => Math.round((Date.now() - startedMs) / 1000);
      if (name === 'simulation') {
        const exitCode = await simulation(seed);
        console.log(JSON.stringify({ campaign: name, seed, exitCode, seconds: secondsPassed() }));
        violations += exitCode === 0 ? 0 : 1;
        continue;
      }
      const onRound = (round: number): void => {
        if (round % ROUNDS_PER_LINE === 0) console.error(`gate: ${name}, ${round} of ${rounds[name]} rounds`);
      };
      const report = await campaign(name, { seed, rounds: rounds[name], onRound }, kafka?.brokers ?? []);
      console.log(JSON.stringify({ ...report, seconds: secondsPassed() }));
      violations += report.violations.length;
    }
  } finally {
    await kafka?.stop();
  }
  return violations === 0;
}

/** What it finds is told on stderr, as vitest tells it. */
async function simulation(seed: number): Promise<number | null> {
  const env = { ...process.env, PERDURE_SEED: String(seed), PERDURE_SIM_SEEDS: '50000', PERDURE_PLANTS: 'all' };
  const cwd = fileURLToPath(new URL('../../', import.meta.url));
  const child = spawn('npx', ['vitest', 'run', '--project', 'simulation'], { cwd, env, stdio: ['ignore', process.stderr, process.stderr] });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  return exitCode;
}

function campaign(name: Campaign, options: CampaignOptions, brokers: readonly string[]): Promise<CampaignReport> {
  switch (name) {
    case 'file':
      return fileCampaign(options);
    case 'state':
      return stateCampaign(options);
    case 'kafka':
      return kafkaCampaign({ ...options, brokers });
    case 'postgres':
      return postgresCampaign({ ...options, brokers });
    case 'postgresZombie':
      return postgresZombieCampaign({ ...options, brokers });
    case 'zombie':
      return zombieCampaign({ ...options, brokers });
  }
}
