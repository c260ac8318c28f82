import * as wf from '@temporalio/workflow';
import { child, failUntil, finish, go, waitForFinish } from './workflows.ts';

/** Workflows about how work is put together: scopes, patches, children, runs that follow each other. */

async function nameOf(work: Promise<unknown>): Promise<string> {
  try {
    return `ok: ${JSON.stringify(await work)}`;
  } catch (error) {
    return error instanceof Error ? error.name : 'no error';
  }
}

/** One scope in another: canceling the outer one ends the timer and the activity of the inner ones, but not what is shielded. */
export async function nestedScopes(): Promise<string[]> {
  let told = false;
  wf.setHandler(go, () => void (told = true));
  const outer = new wf.CancellationScope();
  const outcomes = outer.run(() =>
    Promise.all([
      nameOf(new wf.CancellationScope().run(() => wf.sleep('1h'))),
      nameOf(wf.CancellationScope.cancellable(() => wf.scheduleActivity('waitAtGate', ['inner'], { startToCloseTimeout: '10s' }))),
      nameOf(wf.CancellationScope.nonCancellable(() => wf.scheduleActivity('greet', ['shielded'], { startToCloseTimeout: '10s' }))),
    ]),
  );
  await wf.condition(() => told);
  outer.cancel();
  return outcomes;
}

export async function scopeWithTimeout(): Promise<string> {
  return nameOf(
    wf.CancellationScope.withTimeout(20, () =>
      wf.scheduleActivity('waitAtGate', ['slow'], { startToCloseTimeout: '10s', cancellationType: 'TRY_CANCEL' }),
    ),
  );
}

export async function cancelLocalActivity(): Promise<string> {
  let told = false;
  wf.setHandler(go, () => void (told = true));
  const scope = new wf.CancellationScope();
  const outcome = scope.run(() => nameOf(wf.scheduleLocalActivity('waitAtGate', ['local'], { startToCloseTimeout: '30s' })));
  await wf.condition(() => told);
  scope.cancel();
  return outcome;
}

/** What comes first wins: the timer, which is canceled then, or the signal. */
export async function race(): Promise<string> {
  let told = '';
  wf.setHandler(go, (text) => void (told = text));
  const scope = new wf.CancellationScope();
  const timer = scope.run(() => wf.sleep('1h')).catch(() => undefined);
  await Promise.race([timer, wf.condition(() => told !== '')]);
  scope.cancel();
  const [first] = await Promise.all([wf.scheduleActivity<string>('greet', [told], { startToCloseTimeout: '10s' }), timer]);
  return first;
}

/** One patch that is asked for twice, and another one. */
export async function severalPatches(): Promise<boolean[]> {
  const answers = [wf.patched('one')];
  await wf.sleep(1);
  answers.push(wf.patched('one'), wf.patched('two'));
  return answers;
}

type ChildOptions = Omit<wf.ChildWorkflowOptions, 'typeInfo'>;

/** The same id twice, one child after the other. */
export async function childAgain(options: ChildOptions): Promise<string[]> {
  const first = await nameOf(wf.executeChild(child, { ...options, args: ['complete'] }));
  return [first, await nameOf(wf.executeChild(child, { ...options, args: ['complete'] }))];
}

/** Goes on as a new run while its child runs. */
export async function continueBesideChild(workflowId: string, run: number): Promise<string> {
  if (run > 1) return `run ${run}`;
  await wf.startChild(waitForFinish, { workflowId, parentClosePolicy: 'ABANDON' });
  return wf.continueAsNew<typeof continueBesideChild>(workflowId, run + 1);
}

/** A grandchild below a child, which both end with it. */
export async function generations(ids: string[]): Promise<void> {
  const [next, ...rest] = ids;
  if (next !== undefined) await wf.startChild(generations, { workflowId: next, args: [rest] });
  await wf.condition(() => false);
}

/** What a child was started with. */
export async function tellOptions(): Promise<unknown> {
  const { memo, searchAttributes, parent, root, runTimeoutMs, taskTimeoutMs } = wf.workflowInfo();
  return { memo, searchAttributes, parent: parent?.workflowId, root: root?.workflowId, runTimeoutMs, taskTimeoutMs };
}

export async function startTellingChild(options: ChildOptions): Promise<unknown> {
  return wf.executeChild(tellOptions, options);
}

export async function failingChildren(workflowId: string): Promise<string[]> {
  const both = [`${workflowId}-a`, `${workflowId}-b`].map((id, index) =>
    nameOf(wf.executeChild(failUntil, { workflowId: id, args: [index === 0 ? 9 : 1], retry: { maximumAttempts: 1 } })),
  );
  return Promise.all(both);
}

/** Tells what the run before it handed on. */
export async function handOn(run: number, options: 'nothing' | 'everything'): Promise<unknown> {
  const { memo, searchAttributes, runTimeoutMs, taskQueue, continuedFromExecutionRunId } = wf.workflowInfo();
  if (run > 1) return { memo, searchAttributes, runTimeoutMs, taskQueue, continued: continuedFromExecutionRunId !== undefined };
  const changes = { memo: { note: 'changed' }, searchAttributes: { SdkInt: [2] }, workflowRunTimeout: '40s' } as const;
  return wf.makeContinueAsNewFunc<typeof handOn>(options === 'everything' ? changes : {})(run + 1, options);
}

/** Sets attributes of every type, and takes one away. */
export async function upsertEveryType(): Promise<string> {
  wf.upsertSearchAttributes({
    SdkBool: [true],
    SdkDouble: [2.5],
    SdkDatetime: [new Date(86_400_000)],
    SdkKeywords: ['a', 'b'],
    SdkText: ['some words'],
    SdkInt: [],
  });
  await wf.sleep(1);
  return JSON.stringify(wf.workflowInfo().searchAttributes);
}

export async function sayWhere(): Promise<void> {
  let done = false;
  wf.setHandler(finish, () => void (done = true), { description: 'ends it' });
  wf.setCurrentDetails('half way');
  await wf.condition(() => done);
}

export async function repeatText(text: string, times: number): Promise<string> {
  return (await wf.scheduleActivity<string>('echo', [text.repeat(times)], { startToCloseTimeout: '10s' })) ?? '';
}

export async function countGoes(expected: number): Promise<number> {
  let count = 0;
  wf.setHandler(go, () => void count++);
  await wf.condition(() => count >= expected);
  await wf.scheduleActivity('greet', ['counter'], { startToCloseTimeout: '10s' });
  return count;
}
