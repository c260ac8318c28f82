/** Queries, with the answers that workers give. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, payload, payloads } from './requests.ts';
import { complete, plainStart, poll } from './steps.ts';

export function queries(prng: Prng): readonly Step[] {
  const query = (): Fields => ({
    namespace: 'default',
    execution: { workflowId: '$W0', ...(prng.chance(0.5) ? { runId: '$RUN0' } : {}) },
    query: { queryType: 'state', queryArgs: payloads('q'), header: { fields: { trace: payload('h') } } },
    ...(prng.chance(0.4)
      ? { queryRejectCondition: `QUERY_REJECT_CONDITION_${prng.pick(['NONE', 'NOT_OPEN', 'NOT_COMPLETED_CLEANLY'])}` }
      : {}),
  });
  const begin = (): Step => ({ op: 'begin', method: 'QueryWorkflow', request: query(), timeoutMs: 4_000 });
  const answer = (): Step =>
    call(
      'RespondQueryTaskCompleted',
      prng.chance(0.2)
        ? mutated(prng, { taskToken: '$TOKEN0', completedType: 'QUERY_RESULT_TYPE_ANSWERED', queryResult: payloads('a') })
        : prng.chance(0.5)
          ? { taskToken: '$TOKEN0', completedType: 'QUERY_RESULT_TYPE_ANSWERED', queryResult: payloads('a') }
          : {
              taskToken: '$TOKEN0',
              completedType: 'QUERY_RESULT_TYPE_FAILED',
              errorMessage: 'no such query',
              failure: applicationFailure('Q'),
            },
    );
  const before = prng.pick<readonly Step[]>([
    [],
    [poll(), complete([])],
    [poll(), complete([])],
    [poll(), complete([command('completeWorkflowExecution', {})])],
    [poll(), complete([command('failWorkflowExecution', { failure: applicationFailure('X') })])],
    [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })],
  ]);
  const blind: Step = { op: 'poll', slot: 0, blindly: true };
  const round = prng.pick<readonly Step[]>([
    [begin(), blind, answer(), { op: 'await' }],
    [begin(), blind, answer(), answer(), { op: 'await' }],
    [call('QueryWorkflow', mutated(prng, query()), { timeoutMs: 2_500 })],
    [
      call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 's' }),
      begin(),
      blind,
      complete([], { queryResults: {} }),
      blind,
      answer(),
      { op: 'await' },
    ],
    [
      call(
        'RespondQueryTaskCompleted',
        mutated(prng, { taskToken: '$TOKEN0', completedType: 'QUERY_RESULT_TYPE_ANSWERED', queryResult: payloads('a') }),
      ),
    ],
    [call('QueryWorkflow', query(), { timeoutMs: 2_500 })],
  ]);
  return [plainStart(), ...before, ...round];
}
