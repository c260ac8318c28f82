/** Histories and descriptions, page by page, of workflows that stand in different places. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { command, commands, payloads, seconds } from './requests.ts';
import { complete, plainStart, poll, times } from './steps.ts';

export function reading(prng: Prng): readonly Step[] {
  const execution = (): Fields =>
    prng.pick([{ workflowId: '$W0', runId: '$RUN0' }, { workflowId: '$W0' }, { workflowId: '$W5' }, { workflowId: '$W0', runId: '$OLD0' }]);
  const one = (): readonly Step[] => {
    const method = prng.pick([
      'GetWorkflowExecutionHistory',
      'GetWorkflowExecutionHistory',
      'GetWorkflowExecutionHistoryReverse',
      'DescribeWorkflowExecution',
    ]);
    let request: Fields = { execution: execution() };
    if (method !== 'DescribeWorkflowExecution') {
      request = { ...request, maximumPageSize: prng.pick([0, 1_000]) };
      if (prng.chance(0.5)) request = { ...request, nextPageToken: '$PAGE' };
    }
    if (method === 'GetWorkflowExecutionHistory') {
      if (prng.chance(0.5))
        request = {
          ...request,
          historyEventFilterType: `HISTORY_EVENT_FILTER_TYPE_${prng.pick(['ALL_EVENT', 'CLOSE_EVENT', 'UNSPECIFIED'])}`,
        };
      if (prng.chance(0.2)) request = { ...request, waitNewEvent: true, skipArchival: true };
    }
    if (prng.chance(0.3)) request = mutated(prng, request);
    return [call(method, request, { timeoutMs: 1_500 })];
  };
  const more = prng.pick<readonly Step[]>([
    [],
    [poll()],
    [
      poll(),
      complete([command('recordMarker', { markerName: 'm' }), command('startTimer', { timerId: 't', startToFireTimeout: seconds(60) })]),
    ],
    [poll(), complete([command('completeWorkflowExecution', { result: payloads('r') })])],
    [poll(), complete([command('continueAsNewWorkflowExecution', commands['continueAsNewWorkflowExecution']?.(0) ?? {})])],
  ]);
  return [plainStart(), ...more, ...times(prng.int(3, 6), one)];
}
