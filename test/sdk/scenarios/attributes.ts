import { defineSearchAttributeKey } from '@temporalio/common';
import { expect } from 'vitest';
import type { Scenario, Stage } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums, valueOf, valuesOf } from '../fields.ts';
import { RawWorker, completeWorkflow } from '../raw-worker.ts';
import { callActivity, echoBytes, patchedWorkflow, sleepFor, summarised, upsertEverything } from '../workflows.ts';

/** What a workflow carries besides its events: attributes, memo, markers, metadata, headers, bytes. */
export const attributeScenarios: readonly Scenario[] = [
  {
    name: 'search attributes and memo: started with, upserted, described at once',
    async run(stage) {
      const options = { searchAttributes: { SdkKeyword: ['before'] }, memo: { stage: 'first', dropped: 'soon' } };
      const run = await stage.start(upsertEverything, [], options);
      expect(JSON.parse(await run.handle.result())).toEqual({
        searchAttributes: { SdkKeyword: ['after'], SdkInt: [7] },
        memo: { stage: 'second' },
      });
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'UpsertWorkflowSearchAttributes',
        'WorkflowPropertiesModified',
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const started = history.only('workflowExecutionStartedEventAttributes');
      expect(valueOf(started.searchAttributes?.indexedFields?.['SdkKeyword'])).toEqual(['before']);
      // The server adds the type: a reader that decodes typed attributes needs it, and the client may not have known it.
      const type = started.searchAttributes?.indexedFields?.['SdkKeyword']?.metadata?.['type'];
      expect(new TextDecoder().decode(type ?? undefined)).toBe('Keyword');
      expect(valueOf(started.memo?.fields?.['stage'])).toBe('first');
      const upserted = history.only('upsertWorkflowSearchAttributesEventAttributes').searchAttributes?.indexedFields ?? {};
      expect(Object.fromEntries(Object.entries(upserted).map(([name, payload]) => [name, valueOf(payload)]))).toEqual({
        SdkKeyword: ['after'],
        SdkInt: [7],
      });
      expect(Object.keys(history.only('workflowPropertiesModifiedEventAttributes').upsertedMemo?.fields ?? {}).sort()).toEqual([
        'dropped',
        'stage',
      ]);

      const description = await run.handle.describe();
      expect(description.memo).toEqual({ stage: 'second' });
      expect(description.searchAttributes).toMatchObject({ SdkKeyword: ['after'], SdkInt: [7] });
      expect(description.typedSearchAttributes.get(defineSearchAttributeKey('SdkInt', 'INT'))).toBe(7);
      expect(description.status.name).toBe('COMPLETED');
    },
  },
  {
    name: 'an undefined search attribute is refused',
    async run(stage) {
      const request = new RawWorker(stage).startRequest({
        searchAttributes: { indexedFields: { NoSuchAttribute: { data: Buffer.from('"x"') } } },
      });
      await expect(stage.service.startWorkflowExecution(request)).rejects.toMatchObject({
        code: 3,
        details: expect.stringContaining('NoSuchAttribute'),
      });
    },
  },
  {
    name: 'patches are markers and replay',
    async run(stage) {
      const run = await stage.start(patchedWorkflow, []);
      expect(await run.handle.result()).toBe('true 36');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'MarkerRecorded',
        'UpsertWorkflowSearchAttributes',
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        'MarkerRecorded',
        'UpsertWorkflowSearchAttributes',
        'WorkflowExecutionCompleted',
      ]);
      expect(history.all('markerRecordedEventAttributes').map(({ markerName }) => markerName)).toEqual(['core_patch', 'core_patch']);
      const changes = history.all('upsertWorkflowSearchAttributesEventAttributes');
      expect(changes.map(({ searchAttributes }) => valueOf(searchAttributes?.indexedFields?.['TemporalChangeVersion']))).toEqual([
        ['a-change'],
        ['a-change', 'an-old-change'],
      ]);
    },
  },
  {
    name: 'user metadata of the workflow, its timers and activities',
    async run(stage) {
      const run = await stage.start(summarised, [], { staticSummary: 'a summary', staticDetails: 'and its details' });
      await run.handle.result();
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const { userMetadata } = history.event('WorkflowExecutionStarted');
      expect([userMetadata?.summary, userMetadata?.details].map(valueOf)).toEqual(['a summary', 'and its details']);
      expect(valueOf(history.event('TimerStarted').userMetadata?.summary)).toBe('a short nap');
      expect(valueOf(history.event('ActivityTaskScheduled').userMetadata?.summary)).toBe('says hello');
      const description = await run.handle.describe();
      expect([await description.staticSummary(), await description.staticDetails()]).toEqual(['a summary', 'and its details']);
    },
  },
  {
    name: 'headers are passed from the start to the activity',
    async run(stage) {
      const worker = new RawWorker(stage);
      const header = { fields: { tracing: { data: Buffer.from('"abc"'), metadata: { encoding: Buffer.from('json/plain') } } } };
      const run = await worker.start({ header });
      const task = await worker.poll();
      const started = task.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
      expect(valueOf(started?.header?.fields?.['tracing'])).toBe('abc');
      await worker.complete(task, [worker.scheduleActivity('act', { header })]);
      const activityTask = await worker.pollActivity();
      expect(valueOf(activityTask.header?.fields?.['tracing'])).toBe('abc');
      await worker.completeActivity(activityTask, 'ok');
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'opaque bytes are passed unchanged',
    async run(stage) {
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      const run = await stage.start(echoBytes, [bytes]);
      expect(await run.handle.result()).toEqual(bytes.map((byte) => 255 - byte));
      const input = (await run.history()).only('workflowExecutionStartedEventAttributes').input?.payloads?.[0];
      expect(Buffer.from(input?.data ?? [])).toEqual(Buffer.from(bytes));

      // Whatever the encoding says, the server has no opinion on it.
      const worker = new RawWorker(stage);
      const metadata = { encoding: Buffer.from('binary/encrypted'), key: Buffer.from([0xff, 0x00, 0xfe]) };
      const sealed = await worker.start({
        workflowId: `${stage.id}-sealed`,
        input: { payloads: [{ metadata, data: Buffer.from([0, 1, 254, 255]) }] },
      });
      const task = await worker.poll();
      const [payload] = task.history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
      expect([...(payload?.data ?? [])]).toEqual([0, 1, 254, 255]);
      expect([...(payload?.metadata?.['key'] ?? [])]).toEqual([0xff, 0x00, 0xfe]);
      await worker.complete(task, [completeWorkflow('done')]);
      expect((await sealed.history()).isClosed).toBe(true);
    },
  },
  {
    name: 'links are kept with the event that they came with',
    async run(stage) {
      const target = { namespace: stage.namespace, workflowId: 'elsewhere', runId: crypto.randomUUID() };
      const link = { workflowEvent: { ...target, eventRef: { eventType: enums.EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED } } };
      const worker = new RawWorker(stage);
      const run = await worker.start({ links: [link] });
      await stage.service.signalWorkflowExecution({
        namespace: stage.namespace,
        workflowExecution: { workflowId: run.workflowId },
        signalName: 'linked',
        links: [link],
      });
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      const history = await run.history();
      for (const type of ['WorkflowExecutionStarted', 'WorkflowExecutionSignaled']) {
        expect(history.event(type).links).toMatchObject([{ workflowEvent: { workflowId: 'elsewhere', runId: target.runId } }]);
      }
    },
  },
  {
    name: 'describe shows a pending activity and its attempts',
    async run(stage) {
      const retry = { initialInterval: '1h' as const };
      const run = await stage.start(callActivity, ['flaky', [9], { activityId: 'tries', retry, heartbeatTimeout: '9s' }]);
      const pending = await pendingActivity(stage.describe(run), ({ attempt }) => attempt === 2);
      expect(pending).toMatchObject({
        activityId: 'tries',
        activityType: { name: 'flaky' },
        state: enums.PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED,
        attempt: 2,
        lastFailure: { message: 'attempt 1 failed' },
      });
      await run.handle.terminate();
      const { workflowExecutionInfo } = await stage.describe(run)();
      expect(workflowExecutionInfo?.status).toBe(enums.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED);
    },
  },
  {
    name: 'describe: configuration and counts',
    async run(stage) {
      const run = await stage.start(sleepFor, [1], { workflowRunTimeout: '1m', workflowTaskTimeout: '5s', memo: { a: 1 } });
      await run.handle.result();
      const described = await stage.describe(run)();
      expect(described.executionConfig).toMatchObject({ taskQueue: { name: stage.taskQueue } });
      expect(Number(described.executionConfig?.workflowRunTimeout?.seconds)).toBe(60);
      expect(Number(described.executionConfig?.defaultWorkflowTaskTimeout?.seconds)).toBe(5);
      const info = described.workflowExecutionInfo;
      expect(info).toMatchObject({ type: { name: 'sleepFor' }, firstRunId: run.runId, execution: { runId: run.runId } });
      expect(Number(info?.historyLength)).toBe((await run.history()).events.length);
      expect(info?.closeTime).not.toBeNull();
      expect(valuesOf({ payloads: [info?.memo?.fields?.['a'] ?? {}] })).toEqual([1]);
    },
  },
];

type Described = Awaited<ReturnType<ReturnType<Stage['describe']>>>;
type Pending = NonNullable<Described['pendingActivities']>[number];

/** Describe is read-your-writes but has no long poll: it is asked again until the attempt has been made. */
async function pendingActivity(describe: () => Promise<Described>, there: (pending: Pending) => boolean): Promise<Pending> {
  for (;;) {
    const found = (await describe()).pendingActivities?.find(there);
    if (found !== undefined) return found;
  }
}
