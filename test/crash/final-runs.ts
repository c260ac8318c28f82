/**
 * What has become of all workflows in the end:
 *
 *     each workflow id ─▶ its current run is closed? ─▶ List, and what runs say of each other ─▶ the history of every run
 *
 * A run that was begun twice is named by no other run: only List tells of it. One that List has lost is named by others.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { EventType, WorkflowExecutionStatus } from '../../src/wire/generated/lean/enums.ts';
import type * as lists from '../../src/wire/generated/lean/visibility_service.ts';
import * as messages from '../../src/wire/generated/lean/workflow_service.ts';
import { type CrashCalls, methods, RETRY_PAUSE_MS } from './crash-calls.ts';
import type { FinalRun } from './recorded-history.ts';

type Description = messages.DescribeWorkflowExecutionResponse;
type Named = { readonly workflowId: string; readonly runId: string };

const READERS = 8;
/** Rows of List are written a little later than journals. */
const LISTED_WITHIN_MS = 10_000;

export class FinalRuns {
  readonly #calls: CrashCalls;
  /** Of runs that are closed, by their ids. */
  readonly #descriptions = new Map<string, Description>();

  constructor(calls: CrashCalls) {
    this.#calls = calls;
  }

  /** Until all are, or none more has been for so long. Answers those that are open still. */
  async close(workflowIds: readonly string[], patienceMs: number): Promise<readonly string[]> {
    let open = workflowIds;
    for (let patientUntilMs = Date.now() + patienceMs; open.length > 0 && Date.now() < patientUntilMs;) {
      const still: string[] = [];
      await each(open, async (workflowId) => {
        if (!(await this.#isClosed(workflowId))) still.push(workflowId);
      });
      if (still.length < open.length) patientUntilMs = Date.now() + patienceMs;
      open = still;
      await delay(RETRY_PAUSE_MS);
    }
    return open;
  }

  /** Also of what was never started: it does not go on. */
  async #isClosed(workflowId: string): Promise<boolean> {
    const described = await this.#calls.call(methods.describe, this.#describeRequest({ workflowId, runId: '' }));
    if (described.kind !== 'ok') return described.kind === 'fail';
    const info = described.response.workflowExecutionInfo;
    const { RUNNING, PAUSED } = WorkflowExecutionStatus;
    if (info === undefined || info.status === RUNNING || info.status === PAUSED) return false;
    this.#descriptions.set(info.execution?.runId ?? '', described.response);
    return true;
  }

  /** All runs of these workflows. `open`: those whose current run is read as it is. */
  async read(open: readonly string[]): Promise<readonly FinalRun[]> {
    const runs = new Map<string, FinalRun>();
    const named = new Map<string, Named>();
    for (const { workflowExecutionInfo: info } of this.#descriptions.values())
      if (info?.execution) named.set(info.execution.runId, info.execution);
    await each(open, async (workflowId) => {
      const { workflowExecutionInfo: info } = (await this.#describe({ workflowId, runId: '' })) ?? {};
      if (info?.execution) named.set(info.execution.runId, info.execution);
    });
    const listed = await this.#listed(new Set(named.keys()));
    for (const [runId, execution] of listed) named.set(runId, execution);
    for (let unread = [...named.values()]; unread.length > 0;) {
      await each(unread, async (execution) => {
        const run = await this.#read(execution);
        if (run !== undefined) runs.set(execution.runId, listed.has(execution.runId) ? run : { ...run, isUnlisted: true });
      });
      const found = unread.flatMap(({ runId }) => (runs.has(runId) ? neighboursOf(runs.get(runId)!) : []));
      unread = found.filter(({ runId }) => !named.has(runId));
      for (const execution of unread) named.set(execution.runId, execution);
    }
    return [...runs.values()];
  }

  /** By run id. Asked again until it has at least those, for a while. */
  async #listed(atLeast: ReadonlySet<string>): Promise<ReadonlyMap<string, Named>> {
    for (const untilMs = Date.now() + LISTED_WITHIN_MS; ; await delay(RETRY_PAUSE_MS)) {
      const listed = await this.#list();
      const isWhole = [...atLeast].every((runId) => listed.has(runId));
      if (isWhole || Date.now() > untilMs) return listed;
    }
  }

  async #list(): Promise<ReadonlyMap<string, Named>> {
    const listed = new Map<string, Named>();
    let nextPageToken: Uint8Array = new Uint8Array();
    do {
      const page = await this.#page(nextPageToken);
      for (const { execution } of page.executions) if (execution !== undefined) listed.set(execution.runId, execution);
      nextPageToken = page.nextPageToken;
    } while (nextPageToken.length > 0);
    return listed;
  }

  async #page(nextPageToken: Uint8Array): Promise<lists.ListWorkflowExecutionsResponse> {
    const request = { namespace: this.#calls.namespace, pageSize: 1_000, nextPageToken, query: `WorkflowType = 'crash'` };
    const page = await this.#calls.call(methods.list, request);
    if (page.kind === 'fail') throw new Error(`List is refused: ${page.message}`);
    return page.kind === 'ok' ? page.response : this.#page(nextPageToken);
  }

  /** The request that started a run is not in its history; Describe knows it. undefined: there is no such run. */
  async #read(execution: Named): Promise<FinalRun | undefined> {
    const { workflowId, runId } = execution;
    const description = this.#descriptions.get(runId) ?? (await this.#describe(execution));
    if (description === undefined) return undefined;
    const history = await this.#calls.readHistory(workflowId, runId);
    if (history.kind === 'unknown') return this.#read(execution);
    if (history.kind === 'fail') throw new Error(`${workflowId} ${runId} is described, and its history not read: ${history.message}`);
    const { requestIdInfos = new Map<string, { readonly eventType: number }>(), resetRunId = '' } = description.workflowExtendedInfo ?? {};
    const requestId = [...requestIdInfos].find(([, info]) => info.eventType === EventType.WORKFLOW_EXECUTION_STARTED)?.[0] ?? '';
    const events = history.response.map((event, index) => (index === 0 ? { ...event, requestId } : event));
    return { workflowId, runId, events, ...(resetRunId === '' ? {} : { resetRunId }) };
  }

  /** undefined: there is no such run. */
  async #describe(execution: Named): Promise<Description | undefined> {
    const described = await this.#calls.call(methods.describe, this.#describeRequest(execution));
    if (described.kind === 'unknown') return this.#describe(execution);
    return described.kind === 'ok' ? described.response : undefined;
  }

  #describeRequest(execution: Named): messages.DescribeWorkflowExecutionRequest {
    return { ...messages.emptyDescribeWorkflowExecutionRequest(), namespace: this.#calls.namespace, execution };
  }
}

/** Runs that it names. */
function neighboursOf({ workflowId, events, resetRunId = '' }: FinalRun): readonly Named[] {
  const names = events.flatMap(({ begun, nextRunId = '', reset }) => [begun?.continuedRunId ?? '', nextRunId, reset?.baseRunId ?? '']);
  return [...names, resetRunId].filter((runId) => runId !== '').map((runId) => ({ workflowId, runId }));
}

async function each<Item>(items: readonly Item[], use: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  const reader = async (): Promise<void> => {
    for (const item of queue) await use(item);
  };
  await Promise.all(Array.from({ length: READERS }, reader));
}
