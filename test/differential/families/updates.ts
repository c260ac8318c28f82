import type { Prng } from '../../simulation/prng.ts';
import { mutated, thinned } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { command } from './requests.ts';
import { closeSomehow, complete, describe, plainStart, poll, signal, terminate, times } from './steps.ts';
import { acceptance, place, rejection, response, updateCall } from './update-messages.ts';

/** Two in a row end before a workflow task that no worker has polled for 5 s is given up. */
const WAIT_MS = 2_300;
const blindPoll: Step = { op: 'poll', slot: 0, blindly: true };

/** Updates in all their stages, told in right and in wrong ways, while a workflow goes on or ends. */
export function updates(prng: Prng): readonly Step[] {
  const beginning = prng.pick<readonly Step[]>([[], [poll(), complete([])], [poll(), complete([])]]);
  const round = (): readonly Step[] => prng.pick([answered, answered, answered, twoAtOnce, alone, bent, bystander])(prng);
  return [plainStart(), ...beginning, ...times(prng.int(1, 3), round), poll(), describe()];
}

const someId = (prng: Prng): string => prng.pick(['u1', 'u1', 'u2', 'u3']);
const someStage = (prng: Prng): string => prng.pick(['COMPLETED', 'COMPLETED', 'ACCEPTED', 'ACCEPTED', 'UNSPECIFIED', 'ADMITTED']);

function begun(request: Fields): Step {
  return { op: 'begin', method: 'UpdateWorkflowExecution', request: { namespace: 'default', ...request }, timeoutMs: WAIT_MS };
}

/** One update, what a worker says of it, and what is asked of it later. */
function answered(prng: Prng): readonly Step[] {
  const id = someId(prng);
  return [
    begun(thinned(prng, updateCall(id, someStage(prng)), ['workflowExecution', 'waitPolicy', 'request'])),
    ...(prng.chance(0.2) ? [signal()] : []),
    blindPoll,
    workerSays(prng, [id]),
    { op: 'await' },
    ...later(prng, id),
  ];
}

function twoAtOnce(prng: Prng): readonly Step[] {
  const ids = prng.pick([
    ['u1', 'u2'],
    ['u1', 'u1'],
  ]);
  return [
    ...ids.map((id) => begun(updateCall(id, someStage(prng)))),
    blindPoll,
    workerSays(prng, [...new Set(ids)]),
    { op: 'await' },
    { op: 'await' },
  ];
}

function workerSays(prng: Prng, ids: readonly string[]): Step {
  const said = ids.flatMap((id) =>
    prng.pick([
      [acceptance(id)],
      [acceptance(id), response(id)],
      [acceptance(id), response(id)],
      [acceptance(id), response(id, true)],
      [rejection(id)],
      [response(id)],
      [],
    ]),
  );
  const messages = prng.chance(0.12) ? said.map((message) => mutated(prng, message)) : said;
  const isPlaced = prng.chance(0.85);
  const placed = isPlaced ? said.filter(({ id }) => !String(id).endsWith('/reject')).map(place) : [];
  const others = prng.pick<readonly Fields[]>([
    [],
    [],
    [command('recordMarker', { markerName: 'm' })],
    [command('completeWorkflowExecution', {})],
    [command('continueAsNewWorkflowExecution', { workflowType: { name: 'next-type' }, taskQueue: { name: '$Q0' } })],
    [place({ id: 'nothing' })],
  ]);
  return complete([...placed, ...others], { messages, ...(prng.chance(0.2) ? { returnNewWorkflowTask: true } : {}) });
}

function later(prng: Prng, id: string): readonly Step[] {
  const asked = (): Step => pollCall(prng, prng.chance(0.8) ? id : 'u2');
  return prng.pick<readonly Step[]>([
    [],
    [asked()],
    [asked(), poll(), complete([place(response(id))], { messages: [response(id)] }), asked()],
    [signal(), poll(), complete([place(response(id))], { messages: [response(id)] }), asked()],
    [begun(updateCall(id, 'COMPLETED')), { op: 'await' }],
    [...closeSomehow(prng), asked(), begun(updateCall('u9', 'ACCEPTED')), { op: 'await' }],
  ]);
}

function pollCall(prng: Prng, id: string): Step {
  const request = {
    updateRef: { workflowExecution: { workflowId: '$W0', runId: prng.pick(['', '$RUN0']) }, updateId: id },
    identity: 'client',
    waitPolicy: { lifecycleStage: `UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_${someStage(prng)}` },
  };
  return call('PollWorkflowExecutionUpdate', prng.chance(0.15) ? mutated(prng, request) : request, { timeoutMs: 1_500 });
}

/** Nobody polls: the caller gives up, or asks how it stands. */
function alone(prng: Prng): readonly Step[] {
  const id = someId(prng);
  return [
    begun(updateCall(id, someStage(prng))),
    ...prng.pick<readonly Step[]>([[pollCall(prng, id)], [terminate()], [describe()], []]),
    { op: 'await' },
  ];
}

function bent(prng: Prng): readonly Step[] {
  return [
    call('UpdateWorkflowExecution', mutated(prng, updateCall(someId(prng), someStage(prng))), { timeoutMs: 1_500 }),
    pollCall(prng, someId(prng)),
  ];
}

function bystander(prng: Prng): readonly Step[] {
  return prng.pick<readonly Step[]>([[signal()], [poll(), complete([])], closeSomehow(prng), [pollCall(prng, someId(prng))]]);
}
