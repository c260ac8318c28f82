/** Steps that many families take. */
import type { Prng } from '../../simulation/prng.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, payloads, startRequest } from './requests.ts';

export type Family = (prng: Prng) => readonly Step[];

export const settle: Step = { op: 'settle' };

export function times(count: number, make: () => readonly Step[]): Step[] {
  return Array.from({ length: count }, make).flat();
}

export function plainStart(slot = 0, more: Fields = {}): Step {
  return call('StartWorkflowExecution', { ...startRequest(slot), workflowStartDelay: undefined, ...more }, { slot });
}

export const poll = (slot = 0): Step => ({ op: 'poll', slot });

export function complete(list: readonly Fields[], more: Fields = {}, slot = 0): Step {
  return call('RespondWorkflowTaskCompleted', { taskToken: `$TOKEN${slot}`, identity: 'worker', commands: list, ...more }, { slot });
}

export const signal = (name = 's', slot = 0): Step =>
  call('SignalWorkflowExecution', { workflowExecution: { workflowId: `$W${slot}` }, signalName: name, identity: 'client' });

export const cancel = (slot = 0): Step =>
  call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: `$W${slot}` }, identity: 'client', reason: 'r' });

export const terminate = (slot = 0): Step =>
  call('TerminateWorkflowExecution', { workflowExecution: { workflowId: `$W${slot}` }, reason: 'r', identity: 'client' });

export const describe = (slot = 0): Step => call('DescribeWorkflowExecution', { execution: { workflowId: `$W${slot}` } });

/** A workflow task in which the run ends, in one of the ways that there are. */
export function closeSomehow(prng: Prng, slot = 0): readonly Step[] {
  return prng.pick<readonly Step[]>([
    [poll(slot), complete([command('completeWorkflowExecution', { result: payloads('done') })], {}, slot)],
    [poll(slot), complete([command('failWorkflowExecution', { failure: applicationFailure('Broken') })], {}, slot)],
    [poll(slot), complete([command('cancelWorkflowExecution', {})], {}, slot)],
    [
      poll(slot),
      complete(
        [command('continueAsNewWorkflowExecution', { workflowType: { name: 'next-type' }, taskQueue: { name: `$Q${slot}` } })],
        {},
        slot,
      ),
    ],
    [terminate(slot)],
  ]);
}

/** The last answer of a call that is made until it answers the same for a while. */
export function steady(method: string, request: Fields): Step {
  return { op: 'steady', method, request: { namespace: 'default', ...request } };
}
