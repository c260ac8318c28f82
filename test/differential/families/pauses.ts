import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { command, millis, payloads, seconds } from './requests.ts';
import { cancel, closeSomehow, complete, describe, plainStart, poll, settle, signal, times } from './steps.ts';

/** Workflows that are paused, unpaused and given other options, and what others do to them meanwhile. */
export function pauses(prng: Prng): readonly Step[] {
  const before = prng.pick<readonly Step[]>([
    [],
    [poll()],
    [poll(), complete([])],
    [poll(), complete([timer])],
    [poll(), complete([activity])],
  ]);
  return [plainStart(), ...before, ...times(prng.int(2, 5), () => [...step(prng), settle, describe()]), poll()];
}

const timer = command('startTimer', { timerId: 't', startToFireTimeout: millis(1_500) });
const activity = command('scheduleActivityTask', {
  activityId: 'act-1',
  activityType: { name: 'act' },
  taskQueue: { name: '$Q0' },
  startToCloseTimeout: seconds(20),
});

function step(prng: Prng): readonly Step[] {
  const who: Fields = { workflowId: '$W0', runId: prng.pick(['', '$RUN0']), identity: 'client' };
  const requestId = prng.pick(['pause-request', `pause-${prng.int(0, 999_999)}`, '']);
  const bent = (method: string, request: Fields): readonly Step[] => [call(method, prng.chance(0.15) ? mutated(prng, request) : request)];
  return prng.pick<() => readonly Step[]>([
    () => bent('PauseWorkflowExecution', { ...who, reason: 'wait', requestId }),
    () => bent('PauseWorkflowExecution', { ...who, reason: 'wait', requestId }),
    () => bent('UnpauseWorkflowExecution', { ...who, reason: 'go on', requestId }),
    () => bent('UnpauseWorkflowExecution', { ...who, reason: 'go on', requestId }),
    () => bent('UpdateWorkflowExecutionOptions', optionsRequest(prng)),
    () => [signal()],
    () => [cancel()],
    () => [complete([])],
    () => [poll()],
    () => [{ op: 'pollActivity', slot: 0 }],
    () => [call('RespondActivityTaskCompleted', { taskToken: '$ATOKEN0', result: payloads('r'), identity: 'worker' })],
    () => [{ op: 'sleep', ms: 1_600 }],
    () => closeSomehow(prng),
  ])();
}

function optionsRequest(prng: Prng): Fields {
  return {
    workflowExecution: { workflowId: '$W0', runId: prng.pick(['', '$RUN0']) },
    workflowExecutionOptions: { priority: { priorityKey: prng.pick([1, 4]), fairnessKey: 'other', fairnessWeight: 2 } },
    updateMask: { paths: prng.pick([['priority'], ['priority.priority_key'], ['priority.fairness_key', 'priority.fairness_weight'], []]) },
    identity: 'client',
  };
}
