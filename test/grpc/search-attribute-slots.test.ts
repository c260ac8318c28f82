import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import {
  decodeListSearchAttributesResponse,
  encodeAddSearchAttributesRequest,
  encodeListSearchAttributesRequest,
  encodeRemoveSearchAttributesRequest,
} from '../../src/wire/generated/lean/operator_service.ts';
import { memoryServer } from '../support/memory-server.ts';
import { RawClient } from './raw-client.ts';

let server: RunningServer;
let client: RawClient;
beforeAll(async () => {
  server = await memoryServer({ searchAttributes: new Map([['Everywhere', 'Int']]) });
  client = new RawClient(server.address);
});
afterAll(async () => {
  client.close();
  await server.stop();
});

const operator = '/temporal.api.operatorservice.v1.OperatorService/';
const int = 3;

function added(...names: string[]): Uint8Array {
  return encodeAddSearchAttributesRequest({ namespace: 'default', searchAttributes: new Map(names.map((name) => [name, int])) });
}

async function defined(): Promise<readonly string[]> {
  const answer = await client.call(`${operator}ListSearchAttributes`, encodeListSearchAttributesRequest({ namespace: 'default' }));
  return [...decodeListSearchAttributesResponse(answer).customAttributes.keys()].toSorted();
}

test('a namespace that has all attributes of a type is informed; one that it removes makes room for another', async () => {
  await client.call(`${operator}AddSearchAttributes`, added('A', 'B', 'C', 'D', 'E'));
  const full = 'Unable to create search attributes: cannot have more than 6 search attribute of type Int.';
  const refused = await client.refusal(`${operator}AddSearchAttributes`, added('F'));
  expect([refused.code, refused.details]).toEqual([codes.INVALID_ARGUMENT, full]);

  await client.call(
    `${operator}RemoveSearchAttributes`,
    encodeRemoveSearchAttributesRequest({ namespace: 'default', searchAttributes: ['C'] }),
  );
  expect(await defined()).toEqual(['A', 'B', 'D', 'E', 'Everywhere']);
  await addedAtLast('F', full);
  expect(await defined()).toEqual(['A', 'B', 'D', 'E', 'Everywhere', 'F']);
});

/** Once the column of the removed one is cleared. */
async function addedAtLast(name: string, full: string): Promise<void> {
  for (;;) {
    const refused = await client.refusal(`${operator}AddSearchAttributes`, added(name)).catch(() => undefined);
    if (refused === undefined) return;
    expect([refused.code, refused.details]).toEqual([codes.RESOURCE_EXHAUSTED, expect.stringContaining(`${full} 1 of them was removed`)]);
  }
}
