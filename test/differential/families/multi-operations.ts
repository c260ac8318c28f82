import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { startRequest } from './requests.ts';
import { closeSomehow, complete, plainStart, poll, times } from './steps.ts';
import { acceptance, place, rejection, response, updateRequest } from './update-messages.ts';

const WAIT_MS = 2_500;
const REUSE = ['ALLOW_DUPLICATE', 'ALLOW_DUPLICATE_FAILED_ONLY', 'REJECT_DUPLICATE', 'UNSPECIFIED'];
const CONFLICT = ['USE_EXISTING', 'USE_EXISTING', 'FAIL', 'TERMINATE_EXISTING', 'UNSPECIFIED'];

/** ExecuteMultiOperation: a start and an update in one call, and all that it refuses. */
export function multiOperations(prng: Prng): readonly Step[] {
  const before = prng.pick<readonly Step[]>([
    [],
    [],
    [plainStart()],
    [plainStart(), poll(), complete([])],
    [plainStart(), ...closeSomehow(prng)],
  ]);
  return [...before, ...times(prng.int(1, 2), () => one(prng))];
}

function one(prng: Prng): readonly Step[] {
  const id = prng.pick(['u1', 'u1', 'u2']);
  const full = { namespace: 'default', operations: operations(prng, id) };
  const request = prng.chance(0.35) ? mutated(prng, full) : full;
  const said = prng.pick([[acceptance(id), response(id)], [acceptance(id)], [rejection(id)], []]);
  const placed = said.filter((message) => !String(message['id']).endsWith('/reject')).map(place);
  return [
    { op: 'begin', method: 'ExecuteMultiOperation', request, slot: 0, timeoutMs: WAIT_MS },
    { op: 'poll', slot: 0, blindly: true },
    complete(placed, { messages: said }),
    { op: 'await' },
    ...prng.pick<readonly Step[]>([[], [], closeSomehow(prng)]),
  ];
}

function operations(prng: Prng, id: string): readonly Fields[] {
  const start = {
    startWorkflow: {
      namespace: 'default',
      ...startRequest(),
      workflowStartDelay: undefined,
      requestId: prng.pick(['request-1', 'request-2', 'request-3']),
      workflowIdReusePolicy: `WORKFLOW_ID_REUSE_POLICY_${prng.pick(REUSE)}`,
      workflowIdConflictPolicy: `WORKFLOW_ID_CONFLICT_POLICY_${prng.pick(CONFLICT)}`,
    },
  };
  const stage = prng.pick(['ACCEPTED', 'COMPLETED', 'COMPLETED', 'ADMITTED']);
  const update = {
    updateWorkflow: {
      namespace: 'default',
      workflowExecution: { workflowId: prng.chance(0.95) ? '$W0' : '$W1' },
      waitPolicy: { lifecycleStage: `UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_${stage}` },
      request: updateRequest(id),
    },
  };
  if (prng.chance(0.9)) return [start, update];
  return prng.pick<readonly Fields[]>([[start], [update], [update, start], [start, start], [start, update, update], []]);
}
