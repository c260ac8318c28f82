/** Starts of one workflow id, one after another: what each meets, and what it may do about that. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated, thinned } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, payloads, signalWithStartRequest, startNeeds, startRequest } from './requests.ts';
import { complete, poll, times } from './steps.ts';

const REUSE = ['UNSPECIFIED', 'ALLOW_DUPLICATE', 'ALLOW_DUPLICATE_FAILED_ONLY', 'REJECT_DUPLICATE', 'TERMINATE_IF_RUNNING'];
const CONFLICT = ['UNSPECIFIED', 'FAIL', 'USE_EXISTING', 'TERMINATE_EXISTING'];

export function starts(prng: Prng): readonly Step[] {
  const one = (): readonly Step[] => {
    const withSignal = prng.chance(0.3);
    const method = withSignal ? 'SignalWithStartWorkflowExecution' : 'StartWorkflowExecution';
    const base = withSignal ? signalWithStartRequest() : startRequest();
    let request: Fields = thinned(prng, base, withSignal ? [...startNeeds, 'signalName'] : startNeeds);
    if (prng.chance(0.5)) request = { ...request, requestId: prng.pick(['request-1', 'request-2', 'request-3']) };
    if (prng.chance(0.5)) request = { ...request, workflowIdReusePolicy: `WORKFLOW_ID_REUSE_POLICY_${prng.pick(REUSE)}` };
    if (prng.chance(0.4)) request = { ...request, workflowIdConflictPolicy: `WORKFLOW_ID_CONFLICT_POLICY_${prng.pick(CONFLICT)}` };
    if (prng.chance(0.4)) request = mutated(prng, request);
    return [call(method, request, { slot: 0 })];
  };
  const between = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [],
      [],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, reason: 'r', identity: 'client' })],
      [poll(), complete([command('completeWorkflowExecution', { result: payloads(1) })])],
      [poll(), complete([command('failWorkflowExecution', { failure: applicationFailure('Broken') })])],
    ]);
  return times(prng.int(2, 4), () => [...one(), ...between()]);
}
