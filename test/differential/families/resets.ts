import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { command, commands, payloads, seconds } from './requests.ts';
import { cancel, closeSomehow, complete, describe, plainStart, poll, signal, terminate, times } from './steps.ts';
import { acceptance, place, response, updateCall } from './update-messages.ts';

/** A run with something in its past, then resets to every event that it has and to some that it has not. */
export function resets(prng: Prng): readonly Step[] {
  const past = times(prng.int(1, 4), () => chapter(prng));
  const ending = prng.pick<readonly Step[]>([[], [], closeSomehow(prng), [poll()]]);
  return [
    plainStart(),
    ...past,
    ...ending,
    ...times(prng.int(1, 3), () => [reset(prng), { op: 'sleep', ms: 60 }, ...after(prng)]),
    describe(),
  ];
}

function chapter(prng: Prng): readonly Step[] {
  return prng.pick<readonly Step[]>([
    [poll(), complete([])],
    [poll(), complete([command('startTimer', { timerId: prng.pick(['t1', 't2']), startToFireTimeout: seconds(60) })])],
    [poll(), complete([command('recordMarker', { markerName: 'm' })])],
    [poll(), complete([activity]), ...(prng.chance(0.6) ? [{ op: 'pollActivity', slot: 0 } as const, ...activityEnd(prng)] : [])],
    [poll(), complete([command('startChildWorkflowExecution', commands['startChildWorkflowExecution']?.(0))]), { op: 'sleep', ms: 150 }],
    [poll(), complete([command('upsertWorkflowSearchAttributes', commands['upsertWorkflowSearchAttributes']?.(0))])],
    [poll(), complete([command('modifyWorkflowProperties', commands['modifyWorkflowProperties']?.(0))])],
    [signal(prng.pick(['a', 'b']))],
    [signal('a'), signal('b')],
    [cancel()],
    [poll(), signal('buffered'), complete([])],
    [
      {
        op: 'begin',
        method: 'UpdateWorkflowExecution',
        request: { namespace: 'default', ...updateCall('u1', 'ACCEPTED') },
        timeoutMs: 2_500,
      },
      { op: 'poll', slot: 0, blindly: true },
      complete([place(acceptance('u1')), ...(prng.chance(0.5) ? [place(response('u1'))] : [])], {
        messages: [acceptance('u1'), ...(prng.chance(0.5) ? [response('u1')] : [])],
      }),
      { op: 'await' },
    ],
    [
      poll(),
      call('RespondWorkflowTaskFailed', {
        taskToken: '$TOKEN0',
        cause: 'WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE',
        failure: { message: 'bare' },
        identity: 'worker',
      }),
    ],
  ]);
}

const activity = command('scheduleActivityTask', {
  activityId: 'act-1',
  activityType: { name: 'act' },
  taskQueue: { name: '$Q0' },
  startToCloseTimeout: seconds(20),
});

function activityEnd(prng: Prng): readonly Step[] {
  return prng.chance(0.6) ? [call('RespondActivityTaskCompleted', { taskToken: '$ATOKEN0', result: payloads(1), identity: 'worker' })] : [];
}

function reset(prng: Prng): Step {
  const excluded = ['SIGNAL', 'UPDATE', 'NEXUS', 'CANCEL_REQUEST', 'UNSPECIFIED'].filter(() => prng.chance(0.25));
  const full: Fields = {
    workflowExecution: { workflowId: '$W0', runId: prng.pick(['', '$RUN0', '$RUN0', '$OLD0']) },
    reason: 'again',
    workflowTaskFinishEventId: prng.pick([4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 3, 2, 1, 0, 99]),
    // Repeated ones are answered otherwise, as docs/differences.md says.
    requestId: prng.chance(0.9) ? `reset-${prng.int(0, 999_999)}` : '',
    ...(prng.chance(0.5) ? { resetReapplyType: `RESET_REAPPLY_TYPE_${prng.pick(['UNSPECIFIED', 'SIGNAL', 'NONE', 'ALL_ELIGIBLE'])}` } : {}),
    ...(prng.chance(0.5) ? { resetReapplyExcludeTypes: excluded.map((name) => `RESET_REAPPLY_EXCLUDE_TYPE_${name}`) } : {}),
    identity: 'client',
  };
  return call('ResetWorkflowExecution', prng.chance(0.15) ? mutated(prng, full) : full, { slot: 0 });
}

function after(prng: Prng): readonly Step[] {
  return prng.pick<readonly Step[]>([
    [],
    [poll()],
    [poll(), complete([])],
    [poll(), complete([activity]), { op: 'pollActivity', slot: 0 }, ...activityEnd(prng)],
    closeSomehow(prng),
    [signal('late')],
    [terminate()],
  ]);
}
