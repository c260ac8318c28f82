/** A data set on one server: its workflows are started and ended in turn, then its filters are asked. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Api } from '../api.ts';
import type { Fields } from '../program.ts';
import type { DataSet } from './data-set.ts';
import type { Asked } from './queries.ts';
import { taskQueuesOf, type Attributes, type Workflow } from './workflows.ts';

/** What was asked, and the answer as any right server gives it. */
export type Played = { readonly asked: string; readonly answer: unknown };

const namespace = 'default';

/** `isImmediate`: a list shows what was answered before it. Else it is asked until it does. */
export async function play(api: Api, set: DataSet, { isImmediate }: { readonly isImmediate: boolean }): Promise<readonly Played[]> {
  const player = new Player(api, set);
  await player.startAndEnd();
  await player.settle(isImmediate ? 1 : 200);
  await player.ask();
  return player.played;
}

class Player {
  readonly played: Played[] = [];
  readonly #api: Api;
  readonly #set: DataSet;
  /** `times[n]`: after n workflows, in ms; nothing happened in that millisecond. */
  readonly #times: number[] = [];
  readonly #runs: { readonly workflowId: string; readonly runId: string }[] = [];

  constructor(api: Api, set: DataSet) {
    this.#api = api;
    this.#set = set;
  }

  async startAndEnd(): Promise<void> {
    this.#times.push(await quietMillisecond());
    for (const workflow of this.#set.workflows) {
      await this.#live(workflow);
      this.#times.push(await quietMillisecond());
    }
  }

  /** Until the list says of each run what the run says of itself. */
  async settle(attempts: number): Promise<void> {
    const described = await Promise.all(
      this.#runs.map(async (execution) => {
        const { workflowExecutionInfo } = await this.#succeeded('DescribeWorkflowExecution', { namespace, execution });
        return essence(workflowExecutionInfo as Fields);
      }),
    );
    const query = `${this.#scope()} AND (TemporalNamespaceDivision IS NULL OR TemporalNamespaceDivision IS NOT NULL)`;
    let listed: readonly Fields[] = [];
    for (let attempt = 0; attempt < attempts; attempt++) {
      listed = await this.#list(query);
      const shown = new Set(listed.map(essence));
      if (listed.length === described.length && described.every((one) => shown.has(one))) break;
      if (attempt === attempts - 1)
        throw new Error(`set ${this.#set.seed} is not listed:\n${described.toSorted().join('\n')}\n\n${[...shown].toSorted().join('\n')}`);
      await delay(25);
    }
    this.#keep(
      `list ${query}`,
      listed.map((info) => this.#shown(info)),
    );
  }

  async ask(): Promise<void> {
    for (const asked of this.#set.asked) this.#keep(JSON.stringify(asked), await this.#answerTo(asked));
  }

  async #answerTo(asked: Asked): Promise<unknown> {
    switch (asked.kind) {
      case 'list': {
        const answer = await this.#api.call('ListWorkflowExecutions', { namespace, query: this.#resolved(asked.query), pageSize: 1000 });
        return this.#refusal(answer) ?? this.#names(answer);
      }
      case 'count': {
        const answer = await this.#api.call('CountWorkflowExecutions', { namespace, query: this.#resolved(asked.query) });
        return this.#refusal(answer) ?? counts(answer.response ?? {});
      }
      case 'taken': {
        const answer = await this.#api.call('CountWorkflowExecutions', { namespace, query: this.#resolved(asked.query) });
        return this.#refusal(answer) ?? 'taken';
      }
      case 'pages':
        return this.#pages(this.#resolved(asked.query), asked.size);
      case 'open':
      case 'closed': {
        const method = asked.kind === 'open' ? 'ListOpenWorkflowExecutions' : 'ListClosedWorkflowExecutions';
        const [earliest = 0, latest = 0] = [this.#times[0], this.#times.at(-1)];
        const startTimeFilter = { earliestTime: timestamp(earliest), latestTime: timestamp(latest) };
        const answer = await this.#api.call(method, { namespace, startTimeFilter, maximumPageSize: 1000, ...asked.request });
        return this.#refusal(answer) ?? this.#names(answer);
      }
    }
  }

  async #pages(query: string, pageSize: number): Promise<unknown> {
    const pages: unknown[] = [];
    for (let nextPageToken = ''; pages.length < 40;) {
      const answer = await this.#api.call('ListWorkflowExecutions', { namespace, query, pageSize, nextPageToken });
      pages.push(this.#refusal(answer) ?? this.#names(answer));
      nextPageToken = (answer.response?.['nextPageToken'] ?? '') as string;
      if (nextPageToken === '') break;
    }
    return pages;
  }

  async #live(workflow: Workflow): Promise<void> {
    const { workflowId, life } = workflow;
    const runId = await this.#start(workflow);
    if (runId === undefined) return;
    switch (life.kind) {
      case 'delayed':
        if (life.terminated) await this.#terminate(workflowId);
        return;
      case 'terminated':
        return this.#terminate(workflowId);
      case 'timedOut':
        return this.#untilTimedOut(workflowId, runId);
      case 'open':
        await this.#complete(workflow, []);
        return;
      case 'completed':
        await this.#complete(workflow, [completion]);
        return;
      case 'failed':
        await this.#complete(workflow, [failure]);
        return;
      case 'canceled':
        await this.#complete(workflow, [cancellation]);
        return;
      case 'continuedAsNew':
        await this.#complete(workflow, [continueAsNew(workflow, this.#queues().own)]);
        this.#runs.push({ workflowId, runId: await this.#answerTask(workflowId, []) });
        if (life.terminated) await this.#terminate(workflowId);
        return;
      case 'parent':
        await this.#complete(workflow, [startChild(life.childId, this.#queues().ofChildren)]);
        await this.#answerTask(workflowId, life.completed ? [completion] : []);
        this.#runs.push({ workflowId: life.childId, runId: await this.#newestRunOf(life.childId) });
        if (!life.childTerminated) return;
        await this.#terminate(life.childId);
        if (!life.completed) await this.#answerTask(workflowId, []);
        return;
    }
  }

  /** undefined: it was refused. */
  async #start(workflow: Workflow): Promise<string | undefined> {
    const { workflowId, workflowType, isSignalled, attributes, memo, life } = workflow;
    const request = {
      namespace,
      workflowId,
      workflowType: { name: workflowType },
      taskQueue: { name: this.#queues().own },
      requestId: workflowId,
      ...(Object.keys(attributes).length > 0 ? { searchAttributes: { indexedFields: payloads(attributes) } } : {}),
      ...(Object.keys(memo).length > 0 ? { memo: { fields: payloads(memo) } } : {}),
      ...(life.kind === 'delayed' ? { workflowStartDelay: { seconds: 36_000 } } : {}),
      ...(life.kind === 'timedOut' ? { workflowRunTimeout: { seconds: 1 } } : {}),
      ...(isSignalled ? { signalName: 'go' } : {}),
    };
    const answer = await this.#api.call(isSignalled ? 'SignalWithStartWorkflowExecution' : 'StartWorkflowExecution', request, 60_000);
    this.#keep(`start ${workflowId}`, this.#refusal(answer) ?? 'started');
    if (answer.code !== 0) return undefined;
    const runId = String(answer.response?.['runId']);
    this.#runs.push({ workflowId, runId });
    return runId;
  }

  #complete({ workflowId, upserted, upsertedMemo }: Workflow, commands: readonly Fields[]): Promise<string> {
    const upserts = [
      ...(Object.keys(upserted).length > 0 ? [upsertAttributes(upserted)] : []),
      ...(Object.keys(upsertedMemo).length > 0 ? [upsertMemo(upsertedMemo)] : []),
    ];
    return this.#answerTask(workflowId, [...upserts, ...commands], commands);
  }

  /** The run whose task it was. One that is refused for its upserts comes again, and is answered without them. */
  async #answerTask(workflowId: string, commands: readonly Fields[], withoutUpserts: readonly Fields[] = commands): Promise<string> {
    await quietMillisecond();
    const task = await this.#succeeded('PollWorkflowTaskQueue', { namespace, taskQueue: { name: this.#queues().own }, identity: 'test' });
    const execution = task['workflowExecution'] as Fields;
    if (execution['workflowId'] !== workflowId) throw new Error(`a task of ${String(execution['workflowId'])} instead of ${workflowId}`);
    const answer = await this.#api.call(
      'RespondWorkflowTaskCompleted',
      { namespace, taskToken: task['taskToken'], commands, identity: 'test' },
      60_000,
    );
    if (answer.code === 0) return String(execution['runId']);
    this.#keep(`complete ${workflowId}`, this.#refusal(answer));
    return this.#answerTask(workflowId, withoutUpserts);
  }

  async #terminate(workflowId: string): Promise<void> {
    await quietMillisecond();
    await this.#succeeded('TerminateWorkflowExecution', { namespace, workflowExecution: { workflowId } });
  }

  async #untilTimedOut(workflowId: string, runId: string): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      const described = await this.#succeeded('DescribeWorkflowExecution', { namespace, execution: { workflowId, runId } });
      if ((described['workflowExecutionInfo'] as Fields)['status'] === 'WORKFLOW_EXECUTION_STATUS_TIMED_OUT') return;
      await delay(50);
    }
    throw new Error(`${workflowId} does not time out`);
  }

  async #newestRunOf(workflowId: string): Promise<string> {
    const described = await this.#succeeded('DescribeWorkflowExecution', { namespace, execution: { workflowId } });
    return String(((described['workflowExecutionInfo'] as Fields)['execution'] as Fields)['runId']);
  }

  async #list(query: string): Promise<readonly Fields[]> {
    return executionsOf(await this.#succeeded('ListWorkflowExecutions', { namespace, query, pageSize: 1000 }));
  }

  async #succeeded(method: string, request: Fields): Promise<Fields> {
    const { code, message, response } = await this.#api.call(method, request, 60_000);
    if (code !== 0 || response === undefined) throw new Error(`${method} ${JSON.stringify(request)}: ${code} ${message}`);
    return response;
  }

  #keep(asked: string, answer: unknown): void {
    this.played.push({ asked, answer });
  }

  #refusal({ code, message, details }: Answer): Fields | undefined {
    return code === 0 ? undefined : { code, message: this.#masked(message), details: details.map(({ type }) => type) };
  }

  /** Of this data set. */
  #names({ response }: Answer): readonly string[] {
    const runIds = new Map(this.#runs.map(({ runId }, nth) => [runId, `$RUN${nth}$`]));
    return executionsOf(response ?? {}).flatMap(({ execution }) => {
      const { workflowId, runId } = execution as Fields;
      const name = runIds.get(String(runId));
      return name === undefined ? [] : [`${String(workflowId)} ${name}`];
    });
  }

  /** Every field; of what is each server's own, whether it is there. */
  #shown(info: Fields): unknown {
    return JSON.parse(
      JSON.stringify(info, (key, value: unknown) => {
        if (key === 'runId') return this.#masked(String(value));
        if (/Time$|^executionDuration$|^historySizeBytes$|^stateTransitionCount$/.test(key))
          return value === null || value === 0 ? value : 'there';
        if (key === 'indexedFields' || key === 'fields') {
          const fields = readable(value as Fields);
          return Object.keys(fields).length === 0 ? undefined : fields;
        }
        return value;
      }),
    );
  }

  #queues(): ReturnType<typeof taskQueuesOf> {
    return taskQueuesOf(this.#set);
  }

  #scope(): string {
    const { own, ofChildren } = this.#queues();
    return `TaskQueue IN ('${own}', '${ofChildren}')`;
  }

  #resolved(query: string): string {
    return this.#known().reduce((text, [name, value]) => text.replaceAll(name, value), query);
  }

  #masked(text: string): string {
    return this.#known().reduce((masked, [name, value]) => masked.replaceAll(value, name), text);
  }

  #known(): readonly (readonly [string, string])[] {
    return [
      ...this.#runs.map(({ runId }, nth) => [`$RUN${nth}$`, runId] as const),
      ...this.#times.map((time, nth) => [`$T${nth}$`, new Date(time).toISOString()] as const),
      ...this.#times.map((time, nth) => [`$NS${nth}$`, `${time}000000`] as const),
    ];
  }
}

const completion = { commandType: 'COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION', completeWorkflowExecutionCommandAttributes: {} };
const failure = {
  commandType: 'COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION',
  failWorkflowExecutionCommandAttributes: { failure: { message: 'as asked', applicationFailureInfo: {} } },
};
const cancellation = { commandType: 'COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION', cancelWorkflowExecutionCommandAttributes: {} };

function continueAsNew({ workflowType, attributes, memo }: Workflow, taskQueue: string): Fields {
  return {
    commandType: 'COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION',
    continueAsNewWorkflowExecutionCommandAttributes: {
      workflowType: { name: workflowType },
      taskQueue: { name: taskQueue },
      searchAttributes: { indexedFields: payloads(attributes) },
      memo: { fields: payloads(memo) },
    },
  };
}

function startChild(workflowId: string, taskQueue: string): Fields {
  return {
    commandType: 'COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION',
    startChildWorkflowExecutionCommandAttributes: {
      workflowId,
      workflowType: { name: 'child' },
      taskQueue: { name: taskQueue },
      parentClosePolicy: 'PARENT_CLOSE_POLICY_ABANDON',
    },
  };
}

function upsertAttributes(attributes: Attributes): Fields {
  return {
    commandType: 'COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
    upsertWorkflowSearchAttributesCommandAttributes: { searchAttributes: { indexedFields: payloads(attributes) } },
  };
}

function upsertMemo(memo: Attributes): Fields {
  return {
    commandType: 'COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES',
    modifyWorkflowPropertiesCommandAttributes: { upsertedMemo: { fields: payloads(memo) } },
  };
}

function payloads(attributes: Attributes): Fields {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, json]) => [name, { metadata: { encoding: base64('json/plain') }, data: base64(json) }]),
  );
}

/**
 * `{ AKeyword: 'Keyword "a"' }`. What Temporal's server sets of its own accord is left out, and a value is as Temporal lists it: without the list of
 * one in which it came, a number without the zeros behind its point (docs/differences.md).
 */
function readable(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name !== 'BuildIds')
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, payload]) => {
        const { metadata, data } = payload as { readonly metadata?: Fields; readonly data?: string };
        const type = text(metadata?.['type']);
        return [name, `${type} ${type === 'KeywordList' ? text(data) : single(type, text(data))}`];
      }),
  );
}

function single(type: string, json: string): string {
  const value = json.replace(/^\[(.*)\]$/s, '$1');
  return type === 'Double' ? String(Number(value)) : value;
}

/** What changes while a run lives. */
function essence(info: Fields): string {
  const { execution, status, memo, searchAttributes } = info as Record<string, Fields | undefined>;
  const attributes = readable((searchAttributes?.['indexedFields'] ?? {}) as Fields);
  return JSON.stringify([execution, status, readable((memo?.['fields'] ?? {}) as Fields), attributes]);
}

function counts({ count, groups }: Fields): unknown {
  const named = ((groups ?? []) as readonly { readonly groupValues: readonly { readonly data: string }[]; readonly count: unknown }[]).map(
    (group) => `${group.groupValues.map(({ data }) => text(data)).join()} ${String(group.count)}`,
  );
  // In which order groups come is said by nobody.
  return { count, groups: named.toSorted() };
}

function executionsOf(response: Fields): readonly Fields[] {
  return (response['executions'] ?? []) as readonly Fields[];
}

/** One in which no server had anything to do, and neither in those beside it; no whole second, which stands on its own on Temporal's SQLite. */
async function quietMillisecond(): Promise<number> {
  for (;;) {
    await delay(2);
    const now = Date.now();
    await delay(2);
    if (now % 1000 !== 0) return now;
  }
}

function timestamp(ms: number): Fields {
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
}

function base64(plain: string): string {
  return Buffer.from(plain).toString('base64');
}

function text(encoded: unknown): string {
  return Buffer.from((encoded ?? '') as string, 'base64').toString();
}
