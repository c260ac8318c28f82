/** The rows of RPCs: that they say of requests what the API's descriptors say, and of access what Temporal's own table says. */
import type { Field, Type } from 'protobufjs';
import { expect, test } from 'vitest';
import { HandlerContext } from '../../../src/grpc/handler-context.ts';
import { service } from '../../../src/grpc/method.ts';
import { adminRpcs } from '../../../src/grpc/rpcs/admin-rpcs.ts';
import { deadLetterRpcs } from '../../../src/grpc/rpcs/dead-letter-rpcs.ts';
import { healthRpcs } from '../../../src/grpc/rpcs/health-rpcs.ts';
import { httpRpcs } from '../../../src/grpc/rpcs/http-rpcs.ts';
import { rpcService } from '../../../src/grpc/rpcs/rpc.ts';
import { startMethods } from '../../../src/grpc/workflow-service/start.ts';
import { publicServices, rpcsOf, type Rpc } from '../../fuzz/descriptors.ts';
import { StubServer } from '../stub-ports.ts';

const publicRpcs = publicServices.flatMap(rpcsOf);

/** Where a request says namespaces; what a failure reports happened long ago. */
function namespacesIn(type: Type, at = '', within: readonly Type[] = []): readonly string[] {
  return type.fieldsArray.flatMap((field: Field) => {
    const path = `${at}${field.name}`;
    const { resolvedType } = field.resolve();
    if (field.name === 'namespace' && resolvedType === null) return [path];
    if (resolvedType === null || !('fieldsArray' in resolvedType) || within.includes(resolvedType)) return [];
    return resolvedType.name === 'Failure' ? [] : namespacesIn(resolvedType, `${path}.`, [...within, resolvedType]);
  });
}

test.each(publicRpcs.map((rpc): [string, Rpc] => [rpc.method, rpc]))('%s: its row says where its namespaces are', (_method, rpc) => {
  const { scope, namespaceIn = [], innerNamespaces = [] } = rpc.row;
  expect(namespaceIn.length > 0).toBe(scope === 'namespace');
  expect(Object.keys(rpc.requestType.fields)).toEqual(expect.arrayContaining([...namespaceIn]));
  const found = namespacesIn(rpc.requestType);
  const inner = found.filter((path) => !namespaceIn.includes(path));
  const placeOf = (path: string) => innerNamespaces.find((place) => path === place || path.startsWith(`${place}.`));
  expect(inner.filter((path) => placeOf(path) === undefined)).toEqual([]);
  expect(new Set(inner.map(placeOf))).toEqual(new Set(innerNamespaces));
});

test('as many RPCs of the public API need each access as in Temporal', () => {
  const counts: Record<string, number> = {};
  for (const { service: name, row } of publicRpcs) {
    const key = `${name.split('.').at(-1)} ${row.scope} ${row.access}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  expect(counts).toEqual({
    'WorkflowService none none': 1,
    'WorkflowService cluster read': 3,
    'WorkflowService namespace admin': 3,
    'WorkflowService namespace read': 46,
    'WorkflowService namespace write': 70,
    'OperatorService namespace read': 1,
    'OperatorService namespace admin': 3,
    'OperatorService cluster admin': 8,
  });
});

test('what operators alone may ask is never limited, and probes may be asked by everybody', () => {
  for (const rpc of [...adminRpcs.rpcs.values(), ...deadLetterRpcs.rpcs.values()])
    expect(rpc).toMatchObject({ scope: 'cluster', access: 'admin', needsServing: false });
  for (const rpc of healthRpcs.rpcs.values()) expect(rpc).toMatchObject({ scope: 'none', access: 'none', needsServing: false });
  for (const table of [adminRpcs, deadLetterRpcs, healthRpcs, httpRpcs])
    for (const rpc of table.rpcs.values()) expect(rpc).not.toHaveProperty('limitClass');
});

test('a method without a row, and a row without its method, stop the start', () => {
  const methods = startMethods(new HandlerContext(new StubServer().ports));
  const row = { scope: 'namespace', access: 'write' } as const;
  const rows = Object.fromEntries(methods.map(([name]) => [name, row]));
  expect(service(rpcService('S', rows), methods).methods.size).toBe(methods.length);
  expect(() => service(rpcService('S', {}), methods)).toThrow(/^S has no row for \w+$/);
  expect(() => service(rpcService('S', { ...rows, Another: row }), methods)).toThrow('S/Another is not served as its row says');
});
