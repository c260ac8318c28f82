import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Api } from './api.ts';
import { masker } from './mask.ts';
import type { Fields, Program, Step } from './program.ts';
import { NAMESPACE } from './program.ts';

/** What a user saw of one step, or of one run at the end. Of a step that awaits a call: that call. */
export type Seen = { readonly what: string; readonly request: Fields; readonly step: number; readonly value: unknown };

type Begun = { readonly step: Step; readonly index: number; readonly answer: Promise<unknown> };

const POLL_TIMEOUT_MS = 3_200;
const STEADY_PAUSE_MS = 120;
const STEADY_ROUNDS = 3;
const STEADY_ROUNDS_MAX = 40;

/** Ids of one execution begin so: always of one length. */
export function newNonce(): string {
  return `diff-${Math.random().toString(36).slice(2, 10).padEnd(8, '0')}`;
}

/**
 * A call that was begun stands where it began: what follows from its answer comes behind it.
 *
 * `nonce` makes the ids of this execution new; both servers may use the same. `callback`: where completion callbacks are sent. `pauseMs`: before each
 * step, as on a machine that is slow.
 */
export async function runProgram(api: Api, program: Program, nonce: string, callback: string, pauseMs = 0): Promise<readonly Seen[]> {
  const execution = new Execution(api, nonce, callback);
  const inOrder: { readonly at: number; readonly one: Seen }[] = [];
  for (const [index, step] of program.steps.entries()) {
    const asked = (step.op === 'await' ? execution.oldestBegun : undefined) ?? { step, index };
    if (pauseMs > 0) await delay(pauseMs);
    const value = await execution.step(step, index);
    if (value !== undefined) inOrder.push({ at: asked.index, one: { ...nameOf(asked.step), step: index, value } });
  }
  const seen = inOrder.toSorted((a, b) => a.at - b.at).map(({ one }) => one);
  for (const { what, value } of await execution.remains()) seen.push({ what, request: {}, step: program.steps.length, value });
  return seen;
}

function nameOf(step: Step): { readonly what: string; readonly request: Fields } {
  return 'method' in step ? { what: step.method, request: step.request } : { what: step.op, request: {} };
}

class Execution {
  readonly #api: Api;
  readonly #nonce: string;
  readonly #callback: string;
  /** Run ids by slot, oldest first. */
  readonly #runs = new Map<number, string[]>();
  readonly #tokens = new Map<string, Uint8Array | string>();
  readonly #mask: (value: unknown) => unknown;
  readonly #begun: Begun[] = [];

  constructor(api: Api, nonce: string, callback: string) {
    this.#api = api;
    this.#nonce = nonce;
    this.#callback = callback;
    this.#mask = masker(() => [
      ...[...this.#runs].flatMap(([slot, runs]) => runs.map((run, index) => [run, `<run ${slot}.${index + 1}>`] as const)),
      // A target has another port each time.
      [callback, '<callback>'],
      [nonce, 'N'],
    ]);
  }

  get oldestBegun(): Begun | undefined {
    return this.#begun[0];
  }

  async step(step: Step, index: number): Promise<unknown> {
    switch (step.op) {
      case 'call':
        return this.#call(step.method, step.request, step.timeoutMs, step.slot);
      case 'begin':
        this.#begun.push({ step, index, answer: this.#call(step.method, step.request, step.timeoutMs, step.slot) });
        await delay(150);
        return undefined;
      case 'await':
        return this.#begun.shift()?.answer;
      case 'steady':
        return this.#steady(step.method, step.request);
      case 'poll':
        return this.#poll(step.slot, step.sticky ?? false, step.blindly ?? false);
      case 'pollActivity':
        return this.#pollActivity(step.slot);
      case 'settle':
        return this.#settle();
      case 'sleep':
        await delay(step.ms);
        return undefined;
    }
  }

  /** Describe and history of every run that is known, after everything calmed down. */
  async remains(): Promise<readonly { readonly what: string; readonly value: unknown }[]> {
    await Promise.all(this.#begun.map(({ answer }) => answer));
    for (const slot of [0, 1]) await this.#taskWaits(slot);
    const found: { what: string; value: unknown }[] = [];
    for (const slot of [0, 1, 2]) {
      const first = await this.#describe(slot, '');
      if (first.code !== 0) continue;
      const current = runIdOf(first);
      const runs = this.#runs.get(slot) ?? [];
      for (const run of new Set([...runs, current])) {
        const execution = { workflowId: `${this.#nonce}-w${slot}`, runId: run };
        const described = await this.#describe(slot, run);
        const history = await this.#api.call('GetWorkflowExecutionHistory', { namespace: NAMESPACE, execution });
        found.push({ what: 'final history', value: this.#masked(history) });
        found.push({ what: 'final describe', value: this.#masked(described) });
      }
    }
    return found;
  }

  async #call(method: string, request: Fields, timeoutMs?: number, slot?: number): Promise<unknown> {
    const answer = await this.#api.call(method, this.#resolve(request) as Fields, timeoutMs);
    const { response } = answer;
    if (response !== undefined && slot !== undefined) this.#remember(slot, response);
    if (method === 'DescribeWorkflowExecution') leaveOutPending(response);
    if (typeof response?.['nextPageToken'] === 'string') this.#tokens.set('$PAGE', response['nextPageToken']);
    return this.#masked(answer);
  }

  async #steady(method: string, request: Fields): Promise<unknown> {
    let last = await this.#call(method, request);
    for (let round = 0, same = 0; round < STEADY_ROUNDS_MAX && same < STEADY_ROUNDS; round++) {
      await delay(STEADY_PAUSE_MS);
      const next = await this.#call(method, request);
      same = JSON.stringify(next) === JSON.stringify(last) && !isUnderWay(next) ? same + 1 : 0;
      last = next;
    }
    return last;
  }

  #remember(slot: number, response: Fields): void {
    const { runId, taskToken, workflowTask, eagerWorkflowTask, responses } = response;
    if (typeof runId === 'string' && runId !== '' && !this.#runs.get(slot)?.includes(runId))
      this.#runs.set(slot, [...(this.#runs.get(slot) ?? []), runId]);
    if (typeof taskToken === 'string' && taskToken !== '') this.#keepToken('$TOKEN', slot, taskToken);
    for (const inner of [workflowTask, eagerWorkflowTask, ...(Array.isArray(responses) ? [responses[0]?.startWorkflow] : [])])
      if (typeof inner === 'object' && inner !== null) this.#remember(slot, inner as Fields);
  }

  #keepToken(name: string, slot: number, token: string): void {
    const before = this.#tokens.get(`${name}${slot}`);
    if (before !== undefined) this.#tokens.set(`${name}OLD${slot}`, before);
    this.#tokens.set(`${name}${slot}`, token);
  }

  async #poll(slot: number, sticky: boolean, blindly: boolean): Promise<unknown> {
    if (!blindly && !(await this.#taskWaits(slot))) return 'no workflow task';
    const normal = `${this.#nonce}-q${slot}`;
    const taskQueue = sticky
      ? { name: `${normal}-sticky`, kind: 'TASK_QUEUE_KIND_STICKY', normalName: normal }
      : { name: normal, kind: 'TASK_QUEUE_KIND_NORMAL' };
    const request = { namespace: NAMESPACE, taskQueue, identity: 'worker' };
    const answer = await this.#api.call('PollWorkflowTaskQueue', request, POLL_TIMEOUT_MS);
    if (answer.response !== undefined) this.#remember(slot, answer.response);
    return this.#masked(answer);
  }

  async #pollActivity(slot: number): Promise<unknown> {
    await this.#settle();
    const { response } = await this.#describe(slot, '');
    const pending = response?.['pendingActivities'];
    const waits =
      isRunning(response) &&
      Array.isArray(pending) &&
      pending.some((activity: Fields) => activity['state'] === 'PENDING_ACTIVITY_STATE_SCHEDULED');
    if (!waits) return 'no activity task';
    const request = { namespace: NAMESPACE, taskQueue: { name: `${this.#nonce}-q${slot}` }, identity: 'worker' };
    const answer = await this.#api.call('PollActivityTaskQueue', request, POLL_TIMEOUT_MS);
    const token = answer.response?.['taskToken'];
    if (typeof token === 'string' && token !== '') this.#keepToken('$ATOKEN', slot, token);
    return this.#masked(answer);
  }

  async #taskWaits(slot: number): Promise<boolean> {
    await this.#settle();
    for (let round = 0; ; round++) {
      const { response } = await this.#describe(slot, '');
      const task = response?.['pendingWorkflowTask'] as Fields | undefined;
      if (!isRunning(response)) return false;
      if (task !== undefined) return task['state'] === 'PENDING_WORKFLOW_TASK_STATE_SCHEDULED';
      // A first task that waits for its time, as that of a continued run does.
      const events = Number((response?.['workflowExecutionInfo'] as Fields | undefined)?.['historyLength']);
      if (events > 2 || round === 12) return false;
      await delay(100);
    }
  }

  /** Two equal readings in a row of everything that moves. */
  async #settle(): Promise<undefined> {
    let before = '';
    for (let round = 0; round < 40; round++) {
      const now = JSON.stringify(await Promise.all([0, 1].map((slot) => this.#moving(slot))));
      if (now === before) return undefined;
      before = now;
      await delay(70);
    }
    return undefined;
  }

  async #moving(slot: number): Promise<unknown> {
    const { response } = await this.#describe(slot, '');
    const info = response?.['workflowExecutionInfo'] as Fields | undefined;
    return [info?.['historyLength'], info?.['execution'], info?.['stateTransitionCount'], response?.['pendingActivities']];
  }

  async #describe(slot: number, runId: string): Promise<Answer> {
    const execution = { workflowId: `${this.#nonce}-w${slot}`, runId };
    const answer = await this.#api.call('DescribeWorkflowExecution', { namespace: NAMESPACE, execution });
    leaveOutPending(answer.response);
    return answer;
  }

  #masked(answer: Answer): unknown {
    return this.#mask(answer);
  }

  #resolve(value: unknown): unknown {
    if (typeof value === 'string') return this.#resolveText(value);
    if (Array.isArray(value)) return value.map((item) => this.#resolve(item));
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.#resolve(item)]));
  }

  #resolveText(value: string): unknown {
    if (/^\$(A?TOKEN|PAGE)/.test(value)) return this.#tokens.get(value) ?? '';
    return value.replace('$CALLBACK', this.#callback).replaceAll(/\$(W|Q|RUN|OLD)(\d)/g, (_all, kind: string, digit: string) => {
      const runs = this.#runs.get(Number(digit)) ?? [];
      if (kind === 'W') return `${this.#nonce}-w${digit}`;
      if (kind === 'Q') return `${this.#nonce}-q${digit}`;
      return (kind === 'RUN' ? runs.at(-1) : runs.at(-2)) ?? '00000000-0000-4000-8000-000000000000';
    });
  }
}

/** A batch job, a callback. */
function isUnderWay(masked: unknown): boolean {
  return /BATCH_OPERATION_STATE_RUNNING|CALLBACK_STATE_SCHEDULED/.test(JSON.stringify(masked));
}

function runIdOf({ response }: Answer): string {
  const info = response?.['workflowExecutionInfo'] as { readonly execution?: { readonly runId?: string } } | undefined;
  return info?.execution?.runId ?? '';
}

/** Temporal goes on showing what a closed run had, though nobody will get it. */
function leaveOutPending(response: Fields | undefined): void {
  if (isRunning(response)) return;
  for (const name of ['pendingWorkflowTask', 'pendingActivities', 'pendingChildren']) {
    delete (response as { [name: string]: unknown } | undefined)?.[name];
  }
}

function isRunning(described: Fields | undefined): boolean {
  return (described?.['workflowExecutionInfo'] as Fields | undefined)?.['status'] === 'WORKFLOW_EXECUTION_STATUS_RUNNING';
}
