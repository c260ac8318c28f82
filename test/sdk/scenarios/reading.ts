import { expect } from 'vitest';
import type { Run, Scenario, Stage } from '../harness.ts';
import { RunHistory, readHistory, workflowTask } from '../history.ts';
import { enums } from '../fields.ts';
import { RawWorker } from '../raw-worker.ts';
import { collectSignals, manyMarkers, sleepFor } from '../workflows.ts';

const invalidArgument = 3;

/** Histories read back: pages, long polls, the close event alone, backwards. */
export const readingScenarios: readonly Scenario[] = [
  {
    name: 'a history of several pages, for a worker and for a reader, forwards and backwards',
    async run(stage) {
      const signals = 280;
      const taskQueue = `${stage.id}-queue`;
      const run = await stage.start(collectSignals, [signals], { taskQueue });
      for (let sent = 0; sent < signals; sent += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, i) => run.handle.signal('go', String(sent + i))));
      }
      // The first task of this worker starts with 280 signals behind it: more than a page.
      const worker = await stage.suite.startWorker(taskQueue);
      try {
        expect((await run.handle.result()).toSorted()).toEqual(Array.from({ length: signals }, (_, i) => String(i)).toSorted());
      } finally {
        await worker.stop();
      }
      const whole = await run.history();
      expect(whole.types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        ...Array.from({ length: signals }, () => 'WorkflowExecutionSignaled'),
        'WorkflowTaskStarted',
        'WorkflowTaskCompleted',
        'WorkflowExecutionCompleted',
      ]);
      const ids = whole.events.map((event) => Number(event.eventId));
      expect(ids).toEqual(Array.from(ids, (_, i) => i + 1));
      expect((await pageSizes(stage, run)).length).toBeGreaterThan(1);
      const small = await readHistory(stage.client.workflow, stage.namespace, run, 7);
      expect(small.types).toEqual(whole.types);
      expect((await backwards(stage, run)).map((event) => Number(event.eventId))).toEqual(ids.toReversed());
    },
  },
  {
    name: 'many events of one workflow task',
    async run(stage) {
      const run = await stage.start(manyMarkers, [300]);
      expect(await run.handle.result()).toBe(300);
      expect((await run.history()).types.filter((type) => type === 'MarkerRecorded')).toHaveLength(300);
    },
  },
  {
    name: 'a caller waits for the result, not for the server',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      const result = run.handle.result();
      await run.until('WorkflowTaskCompleted');
      await run.handle.signal('go', 'waited for');
      expect(await result).toEqual(['waited for']);
    },
  },
  {
    name: 'only the close event, and only once there is one',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      const request = {
        namespace: stage.namespace,
        execution: { workflowId: run.workflowId, runId: run.runId },
        historyEventFilterType: enums.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
      };
      const waiting = stage.service.getWorkflowExecutionHistory({ ...request, waitNewEvent: true });
      await run.handle.signal('go', 'close');
      expect(new RunHistory((await waiting).history?.events ?? []).types).toEqual(['WorkflowExecutionCompleted']);
      await run.handle.result();
      const closed = await stage.service.getWorkflowExecutionHistory(request);
      expect(new RunHistory(closed.history?.events ?? []).types).toEqual(['WorkflowExecutionCompleted']);
    },
  },
  {
    name: 'unknown tokens and run ids are refused',
    async run(stage) {
      const run = await stage.start(sleepFor, [1]);
      await run.handle.result();
      const execution = { workflowId: run.workflowId, runId: run.runId };
      const { namespace } = stage;
      await expect(
        stage.service.getWorkflowExecutionHistory({ namespace, execution, nextPageToken: Buffer.from('nonsense') }),
      ).rejects.toMatchObject({ code: invalidArgument, details: 'Invalid NextPageToken.' });
      await expect(
        stage.service.getWorkflowExecutionHistory({ namespace, execution: { workflowId: run.workflowId, runId: 'not-a-uuid' } }),
      ).rejects.toMatchObject({ code: invalidArgument, details: 'Invalid RunId.' });
      await expect(stage.service.getWorkflowExecutionHistory({ namespace, execution: { workflowId: '' } })).rejects.toMatchObject({
        code: invalidArgument,
        details: 'WorkflowId is not set on request.',
      });
      expect((await run.history()).types.slice(0, 4)).toEqual(['WorkflowExecutionStarted', ...workflowTask]);
    },
  },
  {
    name: 'an unknown namespace is named in the error',
    async run(stage) {
      const namespace = `${stage.id}-unknown`;
      await expect(stage.service.describeNamespace({ namespace })).rejects.toMatchObject({
        code: 5,
        details: `Namespace ${namespace} is not found.`,
      });
      const request = new RawWorker(stage).startRequest({ namespace });
      await expect(stage.service.startWorkflowExecution(request)).rejects.toMatchObject({
        code: 5,
        details: `Namespace ${namespace} is not found.`,
      });
    },
  },
];

async function pageSizes(stage: Stage, run: Run): Promise<number[]> {
  const execution = { workflowId: run.workflowId, runId: run.runId };
  const sizes: number[] = [];
  let nextPageToken = new Uint8Array();
  do {
    const page = await stage.service.getWorkflowExecutionHistory({ namespace: stage.namespace, execution, nextPageToken });
    sizes.push(page.history?.events?.length ?? 0);
    nextPageToken = Uint8Array.from(page.nextPageToken);
  } while (nextPageToken.length > 0);
  return sizes;
}

async function backwards(stage: Stage, run: Run): Promise<RunHistory['events'][number][]> {
  const execution = { workflowId: run.workflowId, runId: run.runId };
  const events: RunHistory['events'][number][] = [];
  let nextPageToken = new Uint8Array();
  do {
    const page = await stage.service.getWorkflowExecutionHistoryReverse({ namespace: stage.namespace, execution, nextPageToken });
    events.push(...(page.history?.events ?? []));
    nextPageToken = Uint8Array.from(page.nextPageToken);
  } while (nextPageToken.length > 0);
  return events;
}
