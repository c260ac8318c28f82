import { proxyActivities } from '@temporalio/workflow';
import type * as activities from './sdk-activities.ts';

const { greet } = proxyActivities<typeof activities>({ startToCloseTimeout: '10s', allowEagerDispatch: false });

export async function bench(name: string): Promise<string> {
  return greet(name);
}
