import * as wf from '@temporalio/workflow';

/** The workflows that the web UI is shown. */

export const approve = wf.defineSignal<[string]>('approve');
export const progress = wf.defineQuery<string>('progress');

/** Has a pending activity and a pending child until it is approved. */
export async function orderWithPendingParts(): Promise<string> {
  let approvedBy: string | undefined;
  wf.setHandler(approve, (by) => void (approvedBy = by));
  wf.setHandler(progress, () => (approvedBy === undefined ? 'waiting for approval' : `approved by ${approvedBy}`));
  const parts = new wf.CancellationScope();
  const pending = parts.run(() =>
    Promise.allSettled([
      wf.scheduleActivity('reserveStock', ['SKU-7'], { startToCloseTimeout: '1h', heartbeatTimeout: '1h' }),
      wf.executeChild(shipment, { workflowId: `${wf.workflowInfo().workflowId}-shipment`, args: [] }),
    ]),
  );
  await wf.condition(() => approvedBy !== undefined);
  parts.cancel();
  await pending;
  return `approved by ${approvedBy}`;
}

export async function shipment(): Promise<void> {
  await wf.sleep('30 days');
}

export async function greet(name: string): Promise<string> {
  return `Hello, ${name}!`;
}

export async function chargeCard(): Promise<void> {
  throw wf.ApplicationFailure.nonRetryable('card was declined', 'CardDeclined');
}
