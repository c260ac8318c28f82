/**
 * docs/rpcs.md: every RPC of the public API is called, with a request that a server which does the work answers with success, and answers as its row,
 * and so the page, says.
 */
import { readFileSync } from 'node:fs';
import { status as codes, type ServiceError } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { refusalOf, rpcsPage } from '../../../scripts/rpcs-page.ts';
import { publicServices, rpcsOf, servedRpcs, type Rpc } from '../../fuzz/descriptors.ts';
import { Service } from '../../fuzz/service.ts';
import { templates } from '../../fuzz/templates.ts';
import { memoryServer } from '../../support/memory-server.ts';
import { calls } from './calls.ts';
import { World } from './world.ts';

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

test.each([
  ['WorkflowService', 123],
  ['OperatorService', 12],
])('%s has as many RPCs as the page must list', (name, count) => {
  expect(rpcsOf(publicServices.find((service) => service.endsWith(name)) ?? '')).toHaveLength(count);
});

test('docs/rpcs.md is what scripts/rpcs-page.ts makes of the rows (npm run gen:docs)', () => {
  expect(readFileSync(new URL('../../../docs/rpcs.md', import.meta.url), 'utf8')).toBe(rpcsPage());
});

test('each RPC of the public API answers as its row says', async () => {
  // One job has not ended when the next is begun.
  const dynamicConfig = new Map([['frontend.MaxConcurrentBatchOperationPerNamespace', 20]]);
  const server = await memoryServer({ dynamicConfig });
  const service = new Service(server.address);
  const world = new World(service);
  try {
    for (const name of publicServices) await Promise.all(rpcsOf(name).map((rpc) => answersAsItsRowSays(rpc, world, service)));
  } finally {
    service.close();
    await server.stop();
  }
});

test('each RPC that works is fuzzed, beginning with a request that is fine', () => {
  expect(Object.keys(templates).toSorted(), 'test/fuzz/templates.ts').toEqual(
    servedRpcs()
      .map(({ method }) => method)
      .toSorted(),
  );
});

async function answersAsItsRowSays(rpc: Rpc, world: World, service: Service): Promise<void> {
  const { method, row: declared } = rpc;
  const answer = await answerOf(rpc, world, service);
  if (declared.missing === undefined) expect(['', domainAnswers[method]], `${method} works, as its row says`).toContain(answer);
  else expect(answer, `${method} is missing, as its row says`).toBe(refusalOf(declared));
}

/** Empty for a success. What is not built says so whatever it is asked, and what its call needs may not be built either. */
async function answerOf({ method, row: { missing } }: Rpc, world: World, service: Service): Promise<string> {
  const call = calls[method];
  if (missing !== undefined || call === undefined) return outcomeOf(() => service.call(method, {}));
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
