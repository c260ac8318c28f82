/**
 * The Matching and Admin services against the operations guide: every operation and every field that it names exists under that name,
 * with that type. Where guide and upstream give one name two types, upstream keeps the name; the table below says where the guide's
 * meaning went, and the test looks there.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { loadServiceMessages } from '../../src/wire/services.ts';
import { declaredTypes, loadServices, localName } from './upstream.ts';

type GuideField = { readonly name: string; readonly type: string };
type GuideOperation = { readonly request: readonly GuideField[]; readonly response: readonly GuideField[] };
type Guide = { readonly services: Readonly<Record<'matching' | 'admin', Readonly<Record<string, GuideOperation>>>> };

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const guide: Guide = JSON.parse(readFileSync(join(repository, 'test', 'fixtures', 'guide.json'), 'utf8'));
const serviceFiles = readdirSync(join(repository, 'proto', 'temporal'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.proto'))
  .map((name) => `temporal/${name}`);
const root = loadServices(repository, serviceFiles);

/** Names of the guide for types that upstream calls otherwise. */
const sameType: Readonly<Record<string, string>> = {
  ClusterInfo: 'ClusterMetadata',
  DLQKey: 'HistoryDLQKey',
  DLQType: 'DeadLetterQueueType',
  EndpointSpec: 'NexusEndpointSpec',
  QueueInfo: 'ListQueuesResponse.QueueInfo',
  ServiceRole: 'ClusterMemberRole',
  TaskMetadata: 'HistoryDLQTaskMetadata',
  TaskQueueTask: 'AllocatedTaskInfo',
  'map name to type': 'map<string, IndexedValueType>',
  'map of name to SearchAttributeType': 'map<string, IndexedValueType>',
  object: 'WorkflowMutableState',
};

/** One name, two types: what the name holds here, and the field that holds what the guide means. */
const clashes: Readonly<Record<string, { readonly holds: string; readonly guideMeaning: string }>> = {
  'GetNamespaceReplicationMessagesResponse.messages': { holds: 'ReplicationMessages', guideMeaning: 'replication_tasks' },
  'GetTaskQueueUserDataResponse.user_data': { holds: 'VersionedTaskQueueUserData', guideMeaning: 'task_queue_user_data' },
  'UpdateTaskQueueUserDataRequest.user_data': { holds: 'VersionedTaskQueueUserData', guideMeaning: 'task_queue_user_data' },
  'ListWorkersResponse.workers': { holds: 'WorkerListInfo[]', guideMeaning: 'workers_info' },
};

describe.each([
  ['matching', 'temporal.server.api.matchingservice.v1', 'MatchingService'],
  ['admin', 'temporal.server.api.adminservice.v1', 'AdminService'],
] as const)('%s', (name, packageName, serviceName) => {
  const operations = Object.entries(guide.services[name]);
  const service = root.lookupService(`${packageName}.${serviceName}`);

  test('has the 34 operations of the guide', () => {
    expect(operations).toHaveLength(34);
    expect(Object.keys(service.methods)).toEqual(expect.arrayContaining(operations.map(([operation]) => operation)));
  });

  test.each(operations)('%s', (operation, { request, response }) => {
    const method = service.methods[operation];
    const requestType = root.lookupType(`${packageName}.${method?.requestType}`);
    const responseType = root.lookupType(`${packageName}.${method?.responseType}`);
    expect([requestType.name, responseType.name]).toEqual([`${operation}Request`, `${operation}Response`]);
    expect(namedFields(requestType, request)).toEqual(request.map((field) => `${field.name}: ${guideType(operation, field)}`));
    expect(namedFields(responseType, response)).toEqual(response.map((field) => `${field.name}: ${guideType(operation, field)}`));
  });
});

test('only the replication call is a stream', () => {
  const streams = ['matchingservice.v1.MatchingService', 'adminservice.v1.AdminService'].flatMap((name) =>
    root
      .lookupService(`temporal.server.api.${name}`)
      .methodsArray.filter((method) => method.requestStream === true || method.responseStream === true)
      .map((method) => [method.name, method.requestStream, method.responseStream]),
  );
  expect(streams).toEqual([['StreamWorkflowReplicationMessages', true, true]]);
});

/** How the fields that the guide names are declared here; a clash is described by the field that holds the guide's meaning. */
function namedFields(type: protobuf.Type, fields: readonly GuideField[]): string[] {
  return fields.map(({ name }) => {
    const clash = clashes[`${type.name}.${name}`];
    if (clash) expect(declaredType(type.fields[name])).toBe(clash.holds);
    return `${name}: ${declaredType(type.fields[clash?.guideMeaning ?? name])}`;
  });
}

function declaredType(field: protobuf.Field | undefined): string {
  if (!field) return 'missing';
  const type = field.resolvedType ? localName(field.resolvedType) : field.type;
  if (field instanceof protobuf.MapField) return `map<${field.keyType}, ${type}>`;
  return field.repeated ? `${type}[]` : type;
}

function guideType(operation: string, { type }: GuideField): string {
  if (operation === 'AddTasks' && type === 'Task[]') return 'AddTasksRequest.Task[]';
  const isList = type.endsWith('[]');
  const plain = isList ? type.slice(0, -2) : type;
  return `${sameType[plain] ?? plain}${isList ? '[]' : ''}`;
}

test('numbers that were released stay what they are', () => {
  const current = new Set(describeAll(root.lookup('temporal.server.api') as protobuf.Namespace));
  const released = readFileSync(join(repository, 'test', 'fixtures', 'service-fields.txt'), 'utf8')
    .trim()
    .split('\n');
  expect(released.length).toBeGreaterThan(1400);
  expect(released.filter((line) => !current.has(line))).toEqual([]);
});

/** One line for each field and each value of an enumeration. */
function describeAll(services: protobuf.Namespace): string[] {
  return declaredTypes(services).flatMap((type) => {
    const name = type.fullName.slice('.temporal.server.api.'.length);
    if (type instanceof protobuf.Enum) return Object.entries(type.values).map(([value, number]) => `${name}.${value} = ${number}`);
    return type.fieldsArray.map((field) => `${name}.${field.name} = ${field.id} ${declaredType(field)}`);
  });
}

describe('the generated module', () => {
  test('speaks both dialects on one wire', async () => {
    const { matchingservice, adminservice, enums } = await loadServiceMessages();
    const { ListTaskQueuePartitionsRequest, AddWorkflowTaskRequest } = matchingservice.v1;
    const bytes = AddWorkflowTaskRequest.encode({
      namespaceId: 'n',
      taskQueue: { name: 'orders' },
      forwardInfo: { sourcePartition: '/_sys/orders/1' },
      forwardedSource: '/_sys/orders/1',
      source: enums.v1.TaskSource.TASK_SOURCE_DB_BACKLOG,
    }).finish();
    expect(AddWorkflowTaskRequest.decode(bytes)).toMatchObject({
      namespaceId: 'n',
      taskQueue: { name: 'orders' },
      forwardInfo: { sourcePartition: '/_sys/orders/1' },
      forwardedSource: '/_sys/orders/1',
      source: 2,
    });
    expect(ListTaskQueuePartitionsRequest.decode(ListTaskQueuePartitionsRequest.encode({ namespace: 'n' }).finish()).namespace).toBe('n');
    expect(adminservice.v1.TaskCategory.TASK_CATEGORY_OUTBOUND).toBe(7);
  });

  test('has a class for every message of the guide', async () => {
    const { matchingservice, adminservice } = await loadServiceMessages();
    const names = (operations: object): string[] => Object.keys(operations).flatMap((name) => [`${name}Request`, `${name}Response`]);
    expect(Object.keys(matchingservice.v1)).toEqual(expect.arrayContaining(names(guide.services.matching)));
    expect(Object.keys(adminservice.v1)).toEqual(expect.arrayContaining(names(guide.services.admin)));
  });
});
