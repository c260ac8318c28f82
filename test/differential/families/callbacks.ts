import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { startRequest } from './requests.ts';
import { closeSomehow, complete, poll, signal, steady, times } from './steps.ts';
import { acceptance, place, rejection, response, updateCall, updateRequest } from './update-messages.ts';

/** Two in a row end before a workflow task that no worker has polled for 5 s is given up. */
const WAIT_MS = 2_300;
const requestIds = ['request-1', 'request-2', 'request-3'];

/** Once nothing is on its way to a callback. */
const called = steady('DescribeWorkflowExecution', { execution: { workflowId: '$W0', runId: '$RUN0' } });

/** Completion callbacks of starts that begin a run or join one, and of updates; what becomes of them when it ends. */
export function callbacks(prng: Prng): readonly Step[] {
  return [
    ...start(prng, { requestId: 'request-1', completionCallbacks: some(prng) }),
    ...times(prng.int(1, 3), () => prng.pick([joined, joined, updated, updated, bystander])(prng)),
    called,
    ...closeSomehow(prng),
    called,
  ];
}

function some(prng: Prng): readonly Fields[] {
  const names = prng.pick([[], ['a'], ['a'], ['a', 'b'], ['a', 'a']]);
  return names.map((name) => ({ nexus: { url: `$CALLBACK/${name}`, header: { token: name } } }));
}

function start(prng: Prng, more: Fields): readonly Step[] {
  const request = { ...startRequest(), workflowStartDelay: undefined, ...more };
  return [call('StartWorkflowExecution', prng.chance(0.15) ? mutated(prng, request) : request, { slot: 0 })];
}

function joined(prng: Prng): readonly Step[] {
  const options = { attachRequestId: prng.chance(0.7), attachCompletionCallbacks: prng.chance(0.6), attachLinks: prng.chance(0.5) };
  return start(prng, {
    requestId: prng.pick(requestIds),
    workflowIdConflictPolicy: 'WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING',
    completionCallbacks: some(prng),
    ...(prng.chance(0.85) ? { onConflictOptions: options } : {}),
  });
}

function updated(prng: Prng): readonly Step[] {
  const id = prng.pick(['u1', 'u1', 'u2']);
  const request = { ...updateRequest(id), requestId: prng.pick(['update-1', 'update-2', '']), completionCallbacks: some(prng) };
  const said = prng.pick([[acceptance(id)], [acceptance(id), response(id)], [rejection(id)]]);
  const placed = said.filter((message) => !String(message['id']).endsWith('/reject')).map(place);
  return [
    {
      op: 'begin',
      method: 'UpdateWorkflowExecution',
      request: { namespace: 'default', ...updateCall(id, 'ACCEPTED'), request: prng.chance(0.1) ? mutated(prng, request) : request },
      timeoutMs: WAIT_MS,
    },
    { op: 'poll', slot: 0, blindly: true },
    complete(placed, { messages: said }),
    { op: 'await' },
  ];
}

function bystander(prng: Prng): readonly Step[] {
  return prng.pick<readonly Step[]>([[signal()], [poll(), complete([])], [called]]);
}
