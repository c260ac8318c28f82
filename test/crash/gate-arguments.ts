/** What `npm run gate` takes. */
import { parseArgs } from 'node:util';
import type { Campaign } from './crash-rounds.ts';

export const gateUsage = `The gate before a release: servers die and freeze under load, the checker judges every call; and the simulation at length.

  npm run gate                                  everything: file, state, kafka, postgres and postgresZombie 50 rounds, zombie 200
  npm run gate -- file kafka --rounds 10        these two, shorter

  file      kill -9 at a random moment, start again on the same file
  state     the same with a checkpoint every 50 records, and no history kept in memory
  kafka     as file, with the journals on a real broker
  postgres  the server, PostgreSQL or both are killed, with journals on Kafka and small checkpoints
  zombie    an owner is frozen while another takes over, then wakes up
  postgresZombie   the same with small checkpoints in PostgreSQL
  simulation       ten times the seeds of an ordinary run, and all planted bugs

  --seed N      the same seed makes the same moments; default: a random one, which is said at the start
  --rounds N    of each campaign; the simulation has none
  --help        this text

Prints one line of JSON per campaign and exits with 1 when an invariant was violated; on stderr it says how far it is. Campaigns know
nothing of each other: after one was cut off, name those that have no line yet. Rounds of another seed are other rounds, so 50 may be
run as five times 10.`;

const crashCampaigns = ['file', 'state', 'kafka', 'postgres', 'zombie', 'postgresZombie'] as const;
const campaignNames = [...crashCampaigns, 'simulation'] as const;
const roundsDefault: Readonly<Record<Campaign, number>> = { file: 50, state: 50, kafka: 50, postgres: 50, zombie: 200, postgresZombie: 50 };

export type GateArguments = {
  readonly campaigns: readonly (typeof campaignNames)[number][];
  readonly seed: number;
  readonly rounds: Readonly<Record<Campaign, number>>;
};

export type GateRequest =
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly message: string }
  | ({ readonly kind: 'run' } & GateArguments);

/** The command that does it once more. */
export function announcement({ campaigns, seed, rounds }: GateArguments): string {
  const counts = campaigns.map((name) => (name === 'simulation' ? name : `${name} ${rounds[name]}`)).join(', ');
  const asked = new Set(Object.values(rounds)).size === 1 ? ` --rounds ${rounds.file}` : '';
  return `gate: rounds: ${counts}; the same again: npm run gate -- ${campaigns.join(' ')} --seed ${seed}${asked}`;
}

const wholeNumber = /^\d{1,9}$/;

export function readGateArguments(line: readonly string[]): GateRequest {
  try {
    const { values, positionals } = parseArgs({
      args: [...line],
      allowPositionals: true,
      options: { seed: { type: 'string' }, rounds: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help === true) return { kind: 'help' };
    const unknown = positionals.find((name) => !campaignNames.some((campaign) => campaign === name));
    if (unknown !== undefined) return { kind: 'wrong', message: `there is no campaign "${unknown}"` };
    for (const [name, value] of [['seed', values.seed] as const, ['rounds', values.rounds] as const]) {
      if (value !== undefined && !wholeNumber.test(value))
        return { kind: 'wrong', message: `--${name} takes a whole number, not "${value}"` };
    }
    const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
    if (rounds === 0) return { kind: 'wrong', message: '--rounds 0 would prove nothing' };
    return {
      kind: 'run',
      campaigns: campaignNames.filter((name) => positionals.length === 0 || positionals.includes(name)),
      seed: Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000)),
      rounds:
        rounds === undefined
          ? roundsDefault
          : { file: rounds, state: rounds, kafka: rounds, postgres: rounds, zombie: rounds, postgresZombie: rounds },
    };
  } catch (error) {
    return { kind: 'wrong', message: error instanceof Error ? error.message : String(error) };
  }
}
