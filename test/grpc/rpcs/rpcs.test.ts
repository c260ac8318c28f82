/**
 * docs/rpcs.md: what a server answers to each RPC of the public API. Every RPC is called, with a request that a server which does the work
 * answers with success; what it answers is the table. `npx vitest run --project unit test/grpc/rpcs --update` writes the page anew.
 */
import { status as codes, type ServiceError } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { publicServices, rpcsOf, type Rpc } from '../../fuzz/descriptors.ts';
import { Service } from '../../fuzz/service.ts';
import { templates } from '../../fuzz/templates.ts';
import { memoryServer } from '../../support/memory-server.ts';
import { calls } from './calls.ts';
import { World } from './world.ts';

const page = fileURLToPath(new URL('../../../docs/rpcs.md', import.meta.url));

/** What will be built, by what is left out as a whole. Nothing else may be missing. */
const later: readonly (readonly [RegExp, string])[] = [
  [/WorkerDeployment/, 'worker deployments'],
  [/Nexus/, 'Nexus'],
  [/Activity(Executions?|ExecutionOptions)$/, 'standalone activities'],
  [/WorkflowRules?$/, 'workflow rules'],
  [/TimeSkipping$/, 'time skipping'],
];

/** Refused for good: Temporal refuses them too, unless somebody has switched them on. */
const byDesign: Readonly<Record<string, string>> = {
  UpdateWorkerBuildIdCompatibility: 'off in Temporal too: version sets are deprecated',
  GetWorkerBuildIdCompatibility: 'off in Temporal too: version sets are deprecated',
  UpdateWorkerVersioningRules: 'off in Temporal too: versioning rules are deprecated',
  GetWorkerVersioningRules: 'off in Temporal too: versioning rules are deprecated',
  GetWorkerTaskReachability: 'off in Temporal too: versioning rules are deprecated',
  DescribeDeployment: 'gone from Temporal too',
  ListDeployments: 'gone from Temporal too',
  GetDeploymentReachability: 'gone from Temporal too',
  GetCurrentDeployment: 'gone from Temporal too',
  SetCurrentDeployment: 'gone from Temporal too',
  FetchWorkerConfig: 'off in Temporal too',
  UpdateWorkerConfig: 'off in Temporal too',
  AddOrUpdateRemoteCluster: 'no replication between clusters',
  RemoveRemoteCluster: 'no replication between clusters',
};

/** Answers that are no success, and yet what a server says which does the work. */
const domainAnswers: Readonly<Record<string, string>> = {
  ListArchivedWorkflowExecutions: 'INVALID_ARGUMENT: Cluster is not configured for visibility archival.',
};

/** Replies that may be without a field though their types have some. */
const mayBeEmpty = new Set([
  'RespondWorkflowTaskCompleted',
  'RecordActivityTaskHeartbeat',
  'RecordActivityTaskHeartbeatById',
  'RespondActivityTaskFailed',
  'RespondActivityTaskFailedById',
]);

const notBuilt = (method: string): string => `UNIMPLEMENTED: ${method} is not supported by this server yet`;

test.each([
  ['WorkflowService', 123],
  ['OperatorService', 12],
])('%s has as many RPCs as the page must list', (name, count) => {
  expect(rpcsOf(publicServices.find((service) => service.endsWith(name)) ?? '')).toHaveLength(count);
});

test('docs/rpcs.md says what the server answers to each RPC', async () => {
  // One job has not ended when the next is begun.
  const dynamicConfig = new Map([['frontend.MaxConcurrentBatchOperationPerNamespace', 20]]);
  const server = await memoryServer({ dynamicConfig });
  const service = new Service(server.address);
  try {
    await expect(await pageOf(service)).toMatchFileSnapshot(page);
  } finally {
    service.close();
    await server.stop();
  }
});

test('each RPC that works is fuzzed, beginning with a request that is fine', async () => {
  const works = [...(await readFile(page, 'utf8')).matchAll(/^\| `(\w+)` \| works \|/gm)].map(([, method = '']) => method);
  expect(works.length).toBeGreaterThan(70);
  expect(Object.keys(templates).toSorted(), 'test/fuzz/templates.ts').toEqual(works.toSorted());
});

async function pageOf(service: Service): Promise<string> {
  const world = new World(service);
  const lines = [heading];
  for (const name of publicServices) {
    lines.push('', `## ${name.split('.').at(-1)}`, '', '| RPC | | What it answers |', '|---|---|---|');
    const rpcs = rpcsOf(name);
    const rows = await Promise.all(rpcs.map((rpc) => row(rpc, world, service)));
    lines.push(...rows);
  }
  return `${lines.join('\n')}\n`;
}

const heading = `# What each RPC answers

Made by test/grpc/rpcs/rpcs.test.ts, which calls every RPC of Temporal's public API on a server of its own: \`works\` is a call that the
server answered as one that does the work. Whatever is not built is refused by its name, and never ignored; fields that are refused within
RPCs that work are listed in docs/differences.md.`;

async function row(rpc: Rpc, world: World, service: Service): Promise<string> {
  const { method } = rpc;
  const answer = await answerOf(rpc, world, service);
  return `| \`${method}\` | ${verdict(method, answer)} | ${answer} |`;
}

/** Empty for a success. What is not built says so whatever it is asked, and what its call needs may not be built either. */
async function answerOf({ method }: Rpc, world: World, service: Service): Promise<string> {
  const unprepared = await outcomeOf(() => service.call(method, {}));
  const call = calls[method];
  if (unprepared === notBuilt(method) || call === undefined) return unprepared;
  return outcomeOf(async () => {
    const request = await call(world);
    await saysSomething(method, () => service.call(method, request));
  });
}

async function outcomeOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    await ask();
    return '';
  } catch (error) {
    const { code, details } = error as Partial<ServiceError>;
    if (code === undefined) throw error;
    return `${codes[code]}: ${details}`;
  }
}

/** Lists follow what was written a moment before, so an empty one is asked again. */
async function saysSomething(method: string, ask: () => Promise<object>): Promise<void> {
  const fields = replyFields(method);
  for (let asked = 0; asked < 50; asked++) {
    const reply = await ask();
    if (fields === 0 || mayBeEmpty.has(method) || Object.values(reply).some(isSet)) return;
  }
  throw new Error(`${method} answers, and says nothing`);
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length > 0;
  return value !== null && value !== undefined && value !== '' && value !== 0;
}

function replyFields(method: string): number {
  const rpc = publicServices.flatMap(rpcsOf).find((each) => each.method === method);
  return rpc?.responseType.fieldsArray.length ?? 0;
}

function verdict(method: string, answer: string): string {
  if (answer === '' || answer === domainAnswers[method]) return 'works';
  const family = later.find(([names]) => names.test(method))?.[1];
  const reason = byDesign[method];
  if (family !== undefined) return `later: ${family}`;
  if (reason !== undefined) return `refused by design: ${reason}`;
  if (answer === notBuilt(method)) return '*not yet*';
  throw new Error(`${method} answers ${answer}: a success was expected, or a line of domainAnswers`);
}
