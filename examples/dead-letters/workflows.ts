import { executeChild } from '@temporalio/workflow';

/** An order waits for its shipment, which is a workflow of its own. */
export async function order(): Promise<string> {
  return await executeChild(shipment);
}

export async function shipment(): Promise<string> {
  return await Promise.resolve('shipped');
}
