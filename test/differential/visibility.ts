/**
 * Random workflows with random attributes on Perdure and on Temporal's server, random filters over them, and where a user could tell the two
 * apart: rows, their order, counts, refusals.
 *
 *     node test/differential/visibility.ts --start /path/to/temporal --seed 1 --sets 1000
 *     node test/differential/visibility.ts --ours 127.0.0.1:7233 --theirs 127.0.0.1:7234 --seed 17 --sets 1
 *     node test/differential/visibility.ts --start /path/to/temporal --seed 1 --sets 3 --record   writes down what Temporal answers
 *
 * `--seconds 500` stops after so long and tells the seed to go on with.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../bench/server-process.ts';
import { Api } from './api.ts';
import { dataSetOf } from './visibility/data-set.ts';
import { answersOtherwise } from './visibility/known-differences.ts';
import { prepare } from './prepare.ts';
import { play, type Played } from './visibility/play.ts';
import { attributeTypes } from './visibility/workflows.ts';

const { values } = parseArgs({
  options: {
    ours: { type: 'string' },
    theirs: { type: 'string' },
    start: { type: 'string' },
    seed: { type: 'string', default: '1' },
    sets: { type: 'string', default: '20' },
    conditions: { type: 'string', default: '20' },
    mutated: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '86400' },
    record: { type: 'boolean', default: false },
  },
});

const recordedFile = new URL('visibility/fixtures/recorded-answers.json', import.meta.url);
const perdure = 'bin/perdure server start-dev --headless --ip 127.0.0.1 --port {port} --log-level error';
const unrationed = [
  '--dynamic-config-value frontend.namespaceRPS.visibility=100000',
  '--dynamic-config-value history.transferProcessorMaxPollRPS=1000',
  '--dynamic-config-value history.visibilityProcessorMaxPollRPS=1000',
].join(' ');
const temporal = `${values.start} server start-dev --headless --port {port} --log-level never ${unrationed}`;
/** Temporal's server in memory becomes slow with what stands in it. */
const setsPerServer = 100;

const first = Number(values.seed);
const until = first + Number(values.sets);
const deadline = performance.now() + Number(values.seconds) * 1000;
const counts = { conditions: Number(values.conditions), mutated: Number(values.mutated) };
let asked = 0;
let differing = 0;
let seed = first;

if (values.record) await withServer(values.theirs, temporal, record);
else while (seed < until && performance.now() < deadline) await compareSets(Math.min(until, seed + setsPerServer));
if (!values.record) console.log(`${differing} of ${asked} answers to ${seed - first} data sets differ; the next seed is ${seed}`);
process.exitCode = differing === 0 ? 0 : 1;

async function compareSets(end: number): Promise<void> {
  await withServer(values.theirs, temporal, (theirs) =>
    withServer(values.ours, perdure, async (ours) => {
      for (; seed < end && performance.now() < deadline; seed++) await compareSet(ours, theirs);
    }),
  );
}

async function compareSet(ours: Api, theirs: Api): Promise<void> {
  const set = dataSetOf(seed, counts);
  const [mine, other] = await Promise.all([
    played('ours', () => play(ours, set, { isImmediate: true })),
    played('theirs', () => play(theirs, set, { isImmediate: false })),
  ]);
  asked += mine.length;
  const all = mine.length >= other.length ? mine : other;
  const found = all.flatMap((_, index) => differenceOf(mine[index], other[index]) ?? []);
  differing += found.length;
  // What differs later follows, as a rule, from what differed first.
  for (const line of found.slice(0, 3)) console.log(`seed ${seed}: ${line}`);
}

/** A server on which a data set cannot be played has answered nothing to it. */
async function played(server: string, run: () => Promise<readonly Played[]>): Promise<readonly Played[]> {
  try {
    return await run();
  } catch (error) {
    console.log(`seed ${seed}: ${server} ${String(error)}`);
    return [];
  }
}

function differenceOf(ours: Played | undefined, theirs: Played | undefined): string | undefined {
  const [mine, other] = [JSON.stringify(ours?.answer), JSON.stringify(theirs?.answer)];
  const isAnswered = ours !== undefined && theirs !== undefined && ours.asked === theirs.asked;
  if (isAnswered && (mine === other || answersOtherwise(ours, theirs))) return undefined;
  return `${(ours ?? theirs)?.asked}\n    ours   ${mine}\n    theirs ${other}`;
}

async function record(theirs: Api): Promise<void> {
  const { response } = await theirs.call('GetClusterInfo', {});
  const sets: unknown[] = [];
  for (; seed < until; seed++) {
    const set = dataSetOf(seed, counts);
    sets.push({ set, played: await play(theirs, set, { isImmediate: false }) });
  }
  const lines = sets.map((each) => JSON.stringify(each)).join(',\n');
  writeFileSync(recordedFile, `{"server":${JSON.stringify(response?.['serverVersion'])},"sets":[\n${lines}\n]}\n`);
}

async function withServer(address: string | undefined, command: string, use: (api: Api) => Promise<void>): Promise<void> {
  if (address === undefined && values.start === undefined)
    throw new Error('give --ours and --theirs, or --start with the path of a temporal binary');
  const server = address === undefined ? await ServerProcess.start(command) : undefined;
  const api = new Api(address ?? server?.address ?? '');
  try {
    await prepare(api, attributeTypes);
    await use(api);
  } finally {
    api.close();
    await server?.stop();
  }
}
