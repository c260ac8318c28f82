/** What clients ask of a workflow, with bent requests: signals, cancellation, termination, a signal with a start. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated, thinned } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { cancelRequest, signalRequest, signalWithStartRequest, terminateRequest } from './requests.ts';
import { plainStart, poll, times } from './steps.ts';

export function clients(prng: Prng): readonly Step[] {
  const makers: readonly (readonly [string, (slot?: number) => Fields])[] = [
    ['SignalWorkflowExecution', signalRequest],
    ['RequestCancelWorkflowExecution', cancelRequest],
    ['TerminateWorkflowExecution', terminateRequest],
    ['SignalWithStartWorkflowExecution', signalWithStartRequest],
  ];
  const one = (): readonly Step[] => {
    const [method, make] = prng.pick(makers);
    let request = thinned(prng, make(), ['workflowExecution', 'workflowId', 'workflowType', 'taskQueue', 'signalName']);
    if (prng.chance(0.3)) request = { ...request, requestId: prng.pick(['signal-request-1', 'other']) };
    if (prng.chance(0.45)) request = mutated(prng, request);
    return [call(method, request, method === 'SignalWithStartWorkflowExecution' ? { slot: 0 } : {})];
  };
  const beginning = prng.chance(0.85) ? [plainStart()] : [];
  const started = prng.chance(0.4) ? [poll()] : [];
  return [...beginning, ...started, ...times(prng.int(2, 5), one), poll(), ...times(1, one)];
}
