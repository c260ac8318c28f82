/**
 * What a server says of itself is what it does: each capability of GetSystemInfo and DescribeNamespace is held against a call that succeeds
 * with the feature alone. A capability that is new in the API does not compile until its call is here.
 */
import { status as codes, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { emptyGetSystemInfoResponseCapabilities, emptyNamespaceInfoCapabilities } from '../../src/wire/generated/lean/namespace_service.ts';
import type { GetSystemInfoResponseCapabilities, NamespaceInfoCapabilities } from '../../src/wire/generated/lean/namespace_service.ts';
import type { Plain } from '../fuzz/mutate.ts';
import { Service } from '../fuzz/service.ts';
import { memoryServer } from '../support/memory-server.ts';
import { openBench } from './frontend-bench.ts';
import { identity, namespace, payload, text, World } from './rpcs/world.ts';

let server: RunningServer;
let service: Service;
let world: World;
beforeAll(async () => {
  server = await memoryServer();
  service = new Service(server.address);
  world = new World(service);
});
afterAll(async () => {
  service.close();
  await server.stop();
});

type Check = () => Promise<boolean>;

/** What was not sent is null or absent. */
function isThere(value: unknown): boolean {
  return value !== null && value !== undefined;
}

/** False: this server says that it is not built. Every other answer means that somebody looks at it. */
function isBuilt(method: string, request: Plain): Promise<boolean> {
  return service.call(method, { namespace, ...request }).then(
    () => true,
    ({ code }: ServiceError) => code !== codes.UNIMPLEMENTED,
  );
}

const header = { fields: { trace: payload('t') } };
const failTask = 1;
const modifyProperties = 16;

async function historyOf({ execution }: { readonly execution: Plain }): Promise<readonly Plain[]> {
  const { history } = await world.call<{ history: { events: Plain[] } }>('GetWorkflowExecutionHistory', { namespace, execution });
  return history?.events ?? [];
}

type Description = {
  readonly workflowExecutionInfo: { readonly memo: Plain | null; readonly searchAttributes: { readonly indexedFields: Plain } | null };
  readonly pendingActivities: readonly { readonly heartbeatDetails: Plain | null; readonly lastFailure: Plain | null }[];
};

function describe({ execution }: { readonly execution: Plain }): Promise<Partial<Description>> {
  return world.call<Description>('DescribeWorkflowExecution', { namespace, execution });
}

async function failedActivity(): Promise<Description['pendingActivities'][number] | undefined> {
  const { taskToken, ...run } = await world.activityTask();
  const failure = { message: 'm', encodedAttributes: payload('hidden'), applicationFailureInfo: { type: 'T' } };
  const lastHeartbeatDetails = { payloads: [payload('at the end')] };
  await service.call('RespondActivityTaskFailed', { namespace, taskToken, identity, failure, lastHeartbeatDetails });
  return (await describe(run)).pendingActivities?.[0];
}

const eagerStart: Check = async () => {
  const start = { ...world.start(), requestEagerExecution: true };
  return isThere((await world.call<{ eagerWorkflowTask: Plain | null }>('StartWorkflowExecution', start)).eagerWorkflowTask);
};

/** An update is answered at this stage. */
function updated(lifecycleStage: number): Check {
  return async () => {
    const run = await world.idle();
    world.answerOne(run.queue);
    const update = { ...world.update(run), waitPolicy: { lifecycleStage } };
    const { stage = 0 } = await world.call<{ stage: number }>('UpdateWorkflowExecution', update);
    return stage >= lifecycleStage;
  };
}

const reportsProblems: Check = async () => {
  const run = await world.started();
  for (let attempt = 0; attempt < 6; attempt++) {
    const { taskToken } = await world.poll(run.queue);
    await service.call('RespondWorkflowTaskFailed', { namespace, taskToken, cause: failTask, identity });
  }
  return 'TemporalReportedProblems' in ((await describe(run)).workflowExecutionInfo?.searchAttributes?.indexedFields ?? {});
};

const heartbeats: Check = async () => {
  const workerInstanceKey = world.name('worker');
  await service.call('RecordWorkerHeartbeat', { namespace, identity, workerHeartbeat: [{ workerInstanceKey }] });
  return isBuilt('DescribeWorker', { workerInstanceKey });
};

const serverScaled: Check = () => isBuilt('UpdateWorkerDeploymentVersionComputeConfig', {});
const standaloneActivities: Check = () => isBuilt('StartActivityExecution', {});

const ofTheServer: Readonly<Record<keyof GetSystemInfoResponseCapabilities, Check>> = {
  signalAndQueryHeader: async () => {
    const run = await world.started();
    await service.call('SignalWorkflowExecution', { namespace, workflowExecution: run.execution, signalName: 's', header });
    const signaled = (await historyOf(run)).find((event) => isThere(event['workflowExecutionSignaledEventAttributes']));
    return JSON.stringify(signaled).includes('trace');
  },
  /** INTERNAL is kept for what no repetition mends: a shard that is not served is UNAVAILABLE. */
  internalErrorDifferentiation: async () => {
    const bench = await openBench();
    bench.stub.answers.history = () => ({ kind: 'unavailable', message: 'shard 1 has no owner' });
    const away = new Service(bench.address);
    const code = await away.call('StartWorkflowExecution', world.start()).then(
      () => codes.OK,
      (error: ServiceError) => error.code,
    );
    away.close();
    await bench.close();
    return code === codes.UNAVAILABLE;
  },
  activityFailureIncludeHeartbeat: async () => isThere((await failedActivity())?.heartbeatDetails),
  supportsSchedules: async () => (await world.scheduleId()) !== '',
  encodedFailureAttributes: async () => isThere((await failedActivity())?.lastFailure?.['encodedAttributes']),
  buildIdBasedVersioning: async () => {
    const { task, ...run } = await world.workflowTask();
    await world.complete(task, { workerVersionStamp: { buildId: 'build-77' } });
    return JSON.stringify(await historyOf(run)).includes('build-77');
  },
  upsertMemo: async () => {
    const { task, ...run } = await world.workflowTask();
    const modifyWorkflowPropertiesCommandAttributes = { upsertedMemo: { fields: { color: payload('red') } } };
    await world.complete(task, { commands: [{ commandType: modifyProperties, modifyWorkflowPropertiesCommandAttributes }] });
    return JSON.stringify((await describe(run)).workflowExecutionInfo?.memo).includes('color');
  },
  eagerWorkflowStart: eagerStart,
  sdkMetadata: async () => {
    const { task, ...run } = await world.workflowTask();
    await world.complete(task, { sdkMetadata: { langUsedFlags: [77] } });
    return JSON.stringify(await historyOf(run)).includes('77');
  },
  countGroupByExecutionStatus: () => isBuilt('CountWorkflowExecutions', { query: 'GROUP BY ExecutionStatus' }),
  nexus: () => isBuilt('PollNexusTaskQueue', { taskQueue: { name: 'q' } }),
  serverScaledDeployments: serverScaled,
  serverScaledProviderCloudRun: serverScaled,
};

/** Said to be absent though it may be there: Temporal's server says so by default, and workers do otherwise what they do for it. */
const notSaid: ReadonlySet<keyof NamespaceInfoCapabilities> = new Set(['workerPollCompleteOnShutdown', 'pollerAutoscalingAutoEnroll']);

const ofANamespace: Readonly<Record<keyof NamespaceInfoCapabilities, Check>> = {
  eagerWorkflowStart: eagerStart,
  syncUpdate: updated(3),
  asyncUpdate: updated(2),
  workerHeartbeats: heartbeats,
  reportedProblemsSearchAttribute: reportsProblems,
  workflowPause: async () =>
    isBuilt('PauseWorkflowExecution', { workflowId: (await world.started()).workflowId, requestId: 'r', identity }),
  standaloneActivities,
  standaloneActivityStartDelay: standaloneActivities,
  standaloneActivityBatchOperations: standaloneActivities,
  standaloneActivityOperatorCommands: () => isBuilt('PauseActivityExecution', {}),
  workerPollCompleteOnShutdown: async () => false,
  pollerAutoscaling: async () => {
    const { task } = await world.workflowTask();
    return isThere((task as Plain)['pollerScalingDecision']);
  },
  pollerAutoscalingAutoEnroll: async () => false,
  workerCommands: () => isBuilt('PollNexusTaskQueue', { taskQueue: { name: 'q' } }),
  standaloneNexusOperation: () => isBuilt('StartNexusOperationExecution', {}),
  workflowUpdateCallbacks: async () => {
    const update = world.update(await world.idle());
    const completionCallbacks = [{ nexus: { url: 'http://127.0.0.1/c' } }];
    return isBuilt('UpdateWorkflowExecution', { ...update, request: { ...(update['request'] as Plain), completionCallbacks } });
  },
  workflowTaskCompletionPagination: async () => {
    const { task } = await world.workflowTask();
    return isBuilt('RespondWorkflowTaskCompleted', { taskToken: task.taskToken, identity, pageNumber: 1 });
  },
};

test.each(Object.keys(emptyGetSystemInfoResponseCapabilities()) as (keyof GetSystemInfoResponseCapabilities)[])(
  'the server says whether it has %s',
  async (name) => {
    const { capabilities } = await world.call<{ capabilities: Partial<GetSystemInfoResponseCapabilities> }>('GetSystemInfo', {});
    expect(capabilities?.[name] ?? false).toBe(await ofTheServer[name]());
  },
);

type Info = { readonly capabilities: Partial<NamespaceInfoCapabilities>; readonly limits: Plain };

async function namespaceInfo(): Promise<Info | undefined> {
  return (await world.call<{ namespaceInfo: Info }>('DescribeNamespace', { namespace })).namespaceInfo;
}

test.each(Object.keys(emptyNamespaceInfoCapabilities()) as (keyof NamespaceInfoCapabilities)[])(
  'a namespace says whether it has %s',
  async (name) => {
    const said = (await namespaceInfo())?.capabilities[name] ?? false;
    expect(said).toBe(notSaid.has(name) ? false : await ofANamespace[name]());
  },
);

test('the limits of a namespace are those that starts are held to', async () => {
  const limits = (await namespaceInfo())?.limits ?? {};
  const [blobBytes, memoBytes] = [Number(limits['blobSizeLimitError']), Number(limits['memoSizeLimitError'])];
  const data = (bytes: number): Plain => ({ metadata: { encoding: text('binary/plain') }, data: new Uint8Array(bytes) });
  // What stands around the data: keys, lengths, the encoding.
  const around = 100;
  const outcome = (more: Plain): Promise<unknown> =>
    service.call('StartWorkflowExecution', { ...world.start(), ...more }).then(
      () => 'OK',
      ({ details }: ServiceError) => details,
    );
  expect(await outcome({ input: { payloads: [data(blobBytes - around)] } })).toBe('OK');
  expect(await outcome({ input: { payloads: [data(blobBytes + 1)] } })).toBe('Blob data size exceeds limit.');
  expect(await outcome({ memo: { fields: { m: data(memoBytes - around) } } })).toBe('OK');
  expect(await outcome({ memo: { fields: { m: data(memoBytes + 1) } } })).toBe('Memo size exceeds limit.');
});
