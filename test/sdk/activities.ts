import { ApplicationFailure, CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import { gateOf } from './gates.ts';

/** The activities of the scenarios: each one a single trait, so that a history says why it looks as it does. */

export async function greet(name: string): Promise<string> {
  return `Hello, ${name}!`;
}

export async function echo(value: unknown): Promise<unknown> {
  return value;
}

/** Fails every attempt before `succeedsAt`. */
export async function flaky(succeedsAt: number): Promise<string> {
  const { attempt } = Context.current().info;
  if (attempt < succeedsAt) throw ApplicationFailure.create({ message: `attempt ${attempt} failed`, type: 'Flaky' });
  return `attempt ${attempt}`;
}

export async function failFor(reason: string, type: string, nonRetryable: boolean): Promise<void> {
  throw ApplicationFailure.create({ message: reason, type, nonRetryable, details: [{ reason }] });
}

/** Asks for its own delay before the next attempt, whatever the policy says. */
export async function failOnceWithDelay(delayMs: number): Promise<string> {
  const { attempt } = Context.current().info;
  if (attempt === 1) throw ApplicationFailure.create({ message: 'not yet', nextRetryDelay: delayMs });
  return `attempt ${attempt}`;
}

/** Waits at the gate, deaf to cancellation. */
export async function waitAtGate(name: string): Promise<string> {
  return gateOf(workflowIdOf(Context.current()), name).arrive();
}

/** Fails at once, then waits at the gate. */
export async function failOnceThenWait(name: string): Promise<string> {
  const context = Context.current();
  if (context.info.attempt === 1) throw ApplicationFailure.create({ message: 'attempt 1 failed' });
  return gateOf(workflowIdOf(context), name).arrive();
}

/** Waits at the gate on its first attempt only: the server must time that one out. */
export async function waitAtGateOnce(name: string): Promise<string> {
  const context = Context.current();
  if (context.info.attempt > 1) return `attempt ${context.info.attempt} after ${JSON.stringify(context.info.heartbeatDetails ?? null)}`;
  return gateOf(workflowIdOf(context), name).arrive();
}

/** Beats `progress`, then hangs on the first attempt; later attempts return what they were handed. */
export async function beatThenHang(progress: unknown): Promise<string> {
  const context = Context.current();
  if (context.info.attempt > 1) return `resumed at ${JSON.stringify(context.info.heartbeatDetails ?? null)}`;
  context.heartbeat(progress);
  return gateOf(workflowIdOf(context), 'hang').arrive();
}

/** Beats, then fails on the first attempt; later attempts return what they were handed. */
export async function beatThenFail(progress: unknown): Promise<string> {
  const context = Context.current();
  if (context.info.attempt > 1) return `resumed at ${JSON.stringify(context.info.heartbeatDetails ?? null)}`;
  context.heartbeat(progress);
  throw ApplicationFailure.create({ message: 'lost after a beat' });
}

/** Arrives at gate `beating`, beats until it is told to stop, and reports the cancellation with details. */
export async function beatUntilCancelled(): Promise<void> {
  const context = Context.current();
  const gate = gateOf(workflowIdOf(context), 'beating');
  void gate.arrive();
  const beat = setInterval(() => context.heartbeat('alive'), 50);
  try {
    await context.cancelled;
  } catch (error) {
    gateOf(workflowIdOf(context), 'stopped').open(JSON.stringify(context.cancellationDetails ?? {}));
    if (error instanceof CancelledFailure) throw new CancelledFailure('cleaned up', ['rolled back']);
    throw error;
  } finally {
    clearInterval(beat);
  }
}

/** Beats until it is told to stop, then completes all the same. */
export async function ignoreCancellation(): Promise<string> {
  const context = Context.current();
  void gateOf(workflowIdOf(context), 'beating').arrive();
  const beat = setInterval(() => context.heartbeat('alive'), 50);
  await context.cancelled.catch(() => {});
  clearInterval(beat);
  return 'finished anyway';
}

/** Leaves its completion to somebody else; the gate carries the task token. */
export async function completeLater(): Promise<never> {
  const { info } = Context.current();
  gateOf(info.workflowExecution?.workflowId ?? '', 'token').open(info.base64TaskToken);
  throw new CompleteAsyncError();
}

function workflowIdOf(context: Context): string {
  const { workflowExecution } = context.info;
  if (workflowExecution === undefined) throw new Error('these activities belong to workflows');
  return workflowExecution.workflowId;
}
