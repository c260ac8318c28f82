import * as wf from '@temporalio/workflow';
import type * as activities from './activities.ts';

const { composeGreeting } = wf.proxyActivities<typeof activities>({ startToCloseTimeout: '10 seconds' });

export const visit = wf.defineSignal<[string]>('visit');

export async function hello(name: string): Promise<string> {
  return composeGreeting(name);
}

/** Greets every visitor, in the order of the signals; done after `expected` of them. */
export async function guestBook(expected: number): Promise<string[]> {
  const names: string[] = [];
  wf.setHandler(visit, (name) => void names.push(name));
  const greetings: string[] = [];
  while (greetings.length < expected) {
    await wf.condition(() => names.length > greetings.length);
    greetings.push(await composeGreeting(names[greetings.length] ?? 'nobody'));
  }
  return greetings;
}
