/**
 * The same visibility queries to our parser and to Temporal's server: what is refused, and in which words. What a query that is taken finds
 * is the differential suite's.
 *
 *     node test/differential/filters.ts --start /path/to/temporal              compare, with random queries as well
 *     node test/differential/filters.ts --start /path/to/temporal --record     write down what Temporal says to the asked ones
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseQuery } from '../../src/projections/visibility/filter/parse-query.ts';
import { ServerProcess } from '../bench/server-process.ts';
import { askedAttributes, askedQueries, askedTypes, otherAnswers } from '../projections/visibility/filter/asked-queries.ts';
import { Api } from './api.ts';

const { values } = parseArgs({
  options: {
    theirs: { type: 'string' },
    start: { type: 'string' },
    record: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    random: { type: 'string', default: '2000' },
    ask: { type: 'string' },
  },
});

const answersFile = new URL('../projections/visibility/filter/fixtures/recorded-answers.json', import.meta.url);
const typeNames = ['', 'TEXT', 'KEYWORD', 'INT', 'DOUBLE', 'BOOL', 'DATETIME', 'KEYWORD_LIST'];

const server = values.theirs === undefined ? await started() : undefined;
const api = new Api(values.theirs ?? server?.address ?? '');
try {
  await define(api);
  if (values.ask !== undefined) console.log(await answerTo(values.ask));
  else if (values.record) await record();
  else await compare();
} finally {
  api.close();
  await server?.stop();
}

function started(): Promise<ServerProcess> {
  if (values.start === undefined) throw new Error('give --theirs, or --start with the path of a temporal binary');
  const unlimited = '--dynamic-config-value frontend.namespaceRPS.visibility=100000';
  return ServerProcess.start(`${values.start} server start-dev --headless --port {port} --log-level never ${unlimited}`);
}

async function define(to: Api): Promise<void> {
  const searchAttributes = Object.fromEntries([...askedTypes].map(([name, type]) => [name, `INDEXED_VALUE_TYPE_${typeNames[type]}`]));
  for (let attempt = 0; attempt < 60; attempt++) {
    await to.call('AddSearchAttributes', { namespace: 'default', searchAttributes });
    const { message } = await to.call('CountWorkflowExecutions', { namespace: 'default', query: 'AnInt = 1' });
    if (message === '') return;
    await delay(250);
  }
  throw new Error('the search attributes do not appear');
}

/** '' = taken. Other codes than INVALID_ARGUMENT (3) are told with the answer, and a text that a client does not get, since it ends in a blank. */
async function answerTo(query: string): Promise<string> {
  const { code, message } = await api.call('CountWorkflowExecutions', { namespace: 'default', query });
  return code === 0 || (code === 3 && message !== '') ? message : `${code}: ${message}`;
}

function ourAnswerTo(query: string): string {
  const parsed = parseQuery(query, askedAttributes);
  return parsed.kind === 'invalid' ? parsed.message : '';
}

async function record(): Promise<void> {
  const { response } = await api.call('GetClusterInfo', {});
  const answers: Record<string, string> = {};
  for (const query of askedQueries) answers[query] = await answerTo(query);
  writeFileSync(answersFile, `${JSON.stringify({ server: response?.['serverVersion'], answers }, undefined, 1)}\n`);
}

async function compare(): Promise<void> {
  let differing = 0;
  for (const query of [...askedQueries, ...randomQueries(Number(values.seed), Number(values.random))]) {
    const theirs = await answerTo(query);
    const ours = ourAnswerTo(query);
    if (ours === theirs || otherAnswers.has(query)) continue;
    differing++;
    console.log(`${query.slice(0, 300)}\n    ours   ${ours}\n    theirs ${theirs}`);
  }
  console.log(`${differing} queries are answered differently`);
}

/** Asked ones with words exchanged, left out and doubled. */
function randomQueries(seed: number, count: number): readonly string[] {
  const pieces = askedQueries.filter((query) => query.length < 200).map((query) => query.match(/'[^']*'|\w+|\s+|[^\w\s]/g) ?? []);
  const words = [...new Set(pieces.flat())];
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return Array.from({ length: count }, () => {
    const query = [...(pieces[below(pieces.length)] ?? [])];
    for (let change = below(3); change >= 0; change--) {
      const at = below(query.length + 1);
      query.splice(at, below(3), ...Array.from({ length: below(3) }, () => words[below(words.length)] ?? ''));
    }
    return query.join('');
  });
}
