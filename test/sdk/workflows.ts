import type { Priority } from '@temporalio/common';
import * as wf from '@temporalio/workflow';

/** The workflows of the scenarios. What varies (an activity, its options) is an argument, so that it stands in the scenario itself. */

export const go = wf.defineSignal<[string]>('go');
export const finish = wf.defineSignal('finish');
export const seen = wf.defineQuery<string[]>('seen');
export const broken = wf.defineQuery<string>('broken');

/** An error and its causes, outermost first: `ActivityFailure < TimeoutFailure`. */
function lineage(error: unknown): string {
  const names: string[] = [];
  for (let e: unknown = error; e instanceof Error; e = e.cause) names.push(e.name);
  return names.join(' < ');
}

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    return `ok: ${JSON.stringify(await work)}`;
  } catch (error) {
    return lineage(error);
  }
}

// Activities

export async function callActivity(type: string, args: unknown[], options: wf.ActivityOptions): Promise<unknown> {
  return wf.scheduleActivity(type, args, { startToCloseTimeout: '10s', ...options });
}

/** As callActivity, but a failed activity is an outcome. */
export async function outcomeOfActivity(type: string, args: unknown[], options: wf.ActivityOptions): Promise<string> {
  return outcomeOf(wf.scheduleActivity(type, args, { startToCloseTimeout: '10s', ...options }));
}

export async function callLocalActivity(type: string, args: unknown[], options: wf.LocalActivityOptions): Promise<string> {
  return outcomeOf(wf.scheduleLocalActivity(type, args, { startToCloseTimeout: '10s', ...options }));
}

/** Two activities at once; the second is the one whose gate the scenario opens first. */
export async function callTwoActivities(): Promise<unknown[]> {
  return Promise.all([
    wf.scheduleActivity('waitAtGate', ['first'], { startToCloseTimeout: '10s' }),
    wf.scheduleActivity('waitAtGate', ['second'], { startToCloseTimeout: '10s' }),
  ]);
}

/** Starts an activity, cancels it on `go`, returns its outcome; with `lingers` only after `finish`. */
export async function cancelActivityOnSignal(type: string, options: wf.ActivityOptions, lingers: boolean): Promise<string> {
  let told = false;
  let done = !lingers;
  wf.setHandler(go, () => void (told = true));
  wf.setHandler(finish, () => void (done = true));
  const scope = new wf.CancellationScope();
  const outcome = scope.run(() => outcomeOf(wf.scheduleActivity(type, [], { startToCloseTimeout: '10s', ...options })));
  await wf.condition(() => told);
  scope.cancel();
  const result = await outcome;
  await wf.condition(() => done);
  return result;
}

// Timers

export async function sleepFor(ms: number): Promise<string> {
  await wf.sleep(ms);
  return 'awake';
}

export async function cancelTimer(): Promise<string> {
  const scope = new wf.CancellationScope();
  const outcome = scope.run(() => outcomeOf(wf.sleep('1h')));
  await wf.sleep(1);
  scope.cancel();
  return outcome;
}

export async function waitWithTimeout(ms: number): Promise<boolean> {
  let told = false;
  wf.setHandler(go, () => void (told = true));
  return wf.condition(() => told, ms);
}

export async function twoTimers(): Promise<string[]> {
  const fired: string[] = [];
  await Promise.all([wf.sleep(60).then(() => fired.push('late')), wf.sleep(20).then(() => fired.push('early'))]);
  return fired;
}

// Signals and queries

/** Collects `go` until it has `expected` of them. */
export async function collectSignals(expected: number): Promise<string[]> {
  const values: string[] = [];
  wf.setHandler(go, (value) => void values.push(value));
  wf.setHandler(seen, () => values);
  wf.setHandler(broken, () => {
    throw new Error('this query always fails');
  });
  await wf.condition(() => values.length >= expected);
  return values;
}

/** Holds its workflow task open at a gate (a local activity), then ends with the signals that it has seen. */
export async function holdWorkflowTask(): Promise<string[]> {
  const values: string[] = [];
  wf.setHandler(go, (value) => void values.push(value));
  wf.setHandler(seen, () => values);
  await wf.scheduleLocalActivity('waitAtGate', ['hold'], { startToCloseTimeout: '10s' });
  return values;
}

// The end of a workflow

export async function failWith(message: string, type: string): Promise<never> {
  throw wf.ApplicationFailure.create({ message, type, details: ['a detail'], nonRetryable: true });
}

export async function waitForCancel(): Promise<void> {
  await wf.condition(() => false);
}

/** Notices the cancel request and completes all the same. */
export async function waitForFinish(): Promise<void> {
  let isFinished = false;
  wf.setHandler(finish, () => void (isFinished = true));
  await wf.condition(() => isFinished);
}

export async function surviveCancel(): Promise<string> {
  const outcome = await outcomeOf(wf.condition(() => false));
  return `survived ${outcome}`;
}

export async function cleanUpOnCancel(): Promise<void> {
  try {
    await wf.condition(() => false);
  } catch (error) {
    await wf.CancellationScope.nonCancellable(() => wf.scheduleActivity('greet', ['cleaner'], { startToCloseTimeout: '10s' }));
    throw error;
  }
}

export async function countDown(runs: number): Promise<string> {
  const { memo } = wf.workflowInfo();
  if (runs > 1) {
    await wf.makeContinueAsNewFunc<typeof countDown>({ memo: { runs }, workflowRunTimeout: '30s' })(runs - 1);
  }
  return `last of ${JSON.stringify(memo)}`;
}

// Chains of runs

/** Waits for `go`, in the second run of a chain. */
export async function waitInSecondRun(run: number): Promise<void> {
  let told = false;
  wf.setHandler(go, () => void (told = true));
  if (run === 1) await wf.continueAsNew<typeof waitInSecondRun>(2);
  await wf.condition(() => told);
}

/** Fails before that attempt; then it tells what the server told it. */
export async function failUntil(attempts: number, nonRetryable = false): Promise<string> {
  const { attempt, lastFailure } = wf.workflowInfo();
  if (attempt < attempts) throw wf.ApplicationFailure.create({ message: `attempt ${attempt} failed`, type: 'Passing', nonRetryable });
  return `attempt ${attempt}, after: ${lastFailure?.message ?? 'nothing'}`;
}

export async function retryChild(workflowId: string, attempts: number): Promise<string> {
  const retry = { initialInterval: '1s', maximumAttempts: 2 } as const;
  return outcomeOf(wf.executeChild(failUntil, { workflowId, args: [attempts], retry }));
}

/** On a schedule: the first run has a result, the second fails, and the third waits for its end with what both have left it. */
export async function everySecond(): Promise<number> {
  const { lastResult, lastFailure } = wf.workflowInfo();
  let told = 0;
  wf.setHandler(seen, () => [String(lastResult), lastFailure?.message ?? '', String(told)]);
  wf.setHandler(go, () => void told++);
  if (lastResult === undefined) return 7;
  if (lastFailure === undefined) throw wf.ApplicationFailure.create({ message: 'the second fails', nonRetryable: true });
  await wf.condition(() => false);
  return 8;
}

// Attributes, memo, markers

export async function upsertEverything(): Promise<string> {
  wf.upsertSearchAttributes({ SdkKeyword: ['after'], SdkInt: [7] });
  wf.upsertMemo({ stage: 'second', dropped: null });
  await wf.sleep(1);
  const { searchAttributes, memo } = wf.workflowInfo();
  return JSON.stringify({ searchAttributes, memo });
}

export async function patchedWorkflow(): Promise<string> {
  const isNew = wf.patched('a-change');
  await wf.sleep(1);
  wf.deprecatePatch('an-old-change');
  return `${isNew} ${wf.uuid4().length}`;
}

export async function echoBytes(bytes: Uint8Array): Promise<Uint8Array> {
  return bytes.map((byte) => 255 - byte);
}

/** More than one page of history. */
export async function manyMarkers(count: number): Promise<number> {
  for (let i = 0; i < count; i++) {
    await wf.scheduleLocalActivity('echo', [i], { startToCloseTimeout: '10s' });
  }
  return count;
}

export async function summarised(): Promise<void> {
  wf.setHandler(go, () => {}, { description: 'goes' });
  await wf.sleep(1, { summary: 'a short nap' });
  await wf.scheduleActivity('greet', ['summary'], { startToCloseTimeout: '10s', summary: 'says hello' });
}

// Children and other workflows

export async function child(mode: 'complete' | 'fail' | 'wait' | 'gate'): Promise<string> {
  switch (mode) {
    case 'complete':
      return 'from the child';
    case 'gate':
      return wf.scheduleActivity<string>('waitAtGate', ['child'], { startToCloseTimeout: '10s' });
    case 'fail':
      throw wf.ApplicationFailure.create({ message: 'child failed', type: 'ChildTrouble', nonRetryable: true });
    case 'wait':
      await wf.condition(() => false);
      return 'never';
  }
}

type ChildRun = { workflowId: string; mode: 'complete' | 'fail' | 'wait' | 'gate'; options?: Omit<wf.ChildWorkflowOptions, 'typeInfo'> };

export async function runChild({ workflowId, mode, options }: ChildRun): Promise<string> {
  return outcomeOf(wf.executeChild(child, { ...options, workflowId, args: [mode] }));
}

/** Starts a child and leaves without waiting for it, once `finish` has come. */
export async function leaveChild(workflowId: string, parentClosePolicy: wf.ParentClosePolicy): Promise<string> {
  let done = false;
  wf.setHandler(finish, () => void (done = true));
  await wf.startChild(child, { workflowId, args: ['wait'], parentClosePolicy });
  await wf.condition(() => done);
  return 'left';
}

/** Cancels its child on `go`. */
export async function cancelChildOnSignal(workflowId: string, cancellationType: wf.ChildWorkflowCancellationType): Promise<string> {
  let told = false;
  wf.setHandler(go, () => void (told = true));
  const scope = new wf.CancellationScope();
  const outcome = scope.run(() => outcomeOf(wf.executeChild(child, { workflowId, args: ['wait'], cancellationType })));
  await wf.condition(() => told);
  scope.cancel();
  return outcome;
}

export async function signalChild(workflowId: string): Promise<string[]> {
  const handle = await wf.startChild(collectSignals, { workflowId, args: [1] });
  await handle.signal(go, 'from the parent');
  return handle.result();
}

export async function childThatContinues(workflowId: string): Promise<string> {
  return wf.executeChild(countDown, { workflowId, args: [2] });
}

export async function signalOther(workflowId: string, value: string): Promise<string> {
  return outcomeOf(wf.getExternalWorkflowHandle(workflowId).signal(go, value));
}

export async function cancelOther(workflowId: string): Promise<string> {
  return outcomeOf(wf.getExternalWorkflowHandle(workflowId).cancel());
}

// Workflow tasks

/**
 * Throws something that is no Temporal failure: a failed workflow task, not a failed workflow. At the first attempt three events are
 * written; the second attempt, and every replay, sees more.
 */
export async function stumbleOnce(): Promise<string> {
  if (wf.workflowInfo().historyLength <= 3) throw new Error('a bug in the workflow');
  return 'recovered';
}

// Updates

export const add = wf.defineUpdate<number, [number]>('add');
export const addLater = wf.defineUpdate<number, [number]>('addLater');

/** Sums what its updates bring, until `finish`. `addLater` waits for a `go`. What is large is for the first run alone. */
export async function askAndAnswer(): Promise<number> {
  let sum = 0;
  let told = false;
  let done = false;
  const validator = (more: number): void => {
    if (more < 0) throw new Error('only more');
    const { runId, firstExecutionRunId } = wf.workflowInfo();
    if (more > 90 && runId !== firstExecutionRunId) throw new Error('too much');
  };
  const handler = (more: number): number => {
    if (more === 13) throw wf.ApplicationFailure.nonRetryable('unlucky');
    return (sum += more);
  };
  wf.setHandler(add, handler, { validator });
  wf.setHandler(addLater, async (more) => {
    await wf.condition(() => told);
    return (sum += more);
  });
  wf.setHandler(go, () => void (told = true));
  wf.setHandler(finish, () => void (done = true));
  await wf.condition(() => done);
  return sum;
}

/** Sums what its updates bring; goes on in another run when it is told to, once. */
export async function askAndContinue(isSecond: boolean): Promise<number> {
  let sum = 0;
  let done = false;
  wf.setHandler(add, (more) => (sum += more));
  wf.setHandler(go, () => void (done = true));
  await wf.condition(() => done);
  if (!isSecond) await wf.continueAsNew<typeof askAndContinue>(true);
  return sum;
}

/** Knows no update. */
export async function refuseAll(): Promise<void> {
  let done = false;
  wf.setHandler(finish, () => void (done = true));
  await wf.condition(() => done);
}

export type NotedCall = { readonly note: string; readonly priority?: Priority };

/** All at once, on a queue of their own. */
export async function noteAll(taskQueue: string, calls: readonly NotedCall[]): Promise<void> {
  await Promise.all(
    calls.map(async ({ note, priority }) => {
      await wf.proxyActivities({ taskQueue, startToCloseTimeout: '10s', ...(priority && { priority }) })['noted']?.(note);
    }),
  );
}

export async function noteInChild(taskQueue: string, workflowId: string, calls: readonly NotedCall[]): Promise<void> {
  await wf.executeChild(noteAll, { workflowId, args: [taskQueue, calls] });
}
