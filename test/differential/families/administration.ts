/** Namespaces and search attributes. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { seconds, startRequest } from './requests.ts';
import { times } from './steps.ts';

export function administration(prng: Prng): readonly Step[] {
  const name = '$W0-namespace';
  const calls: readonly (readonly [string, Fields])[] = [
    [
      'RegisterNamespace',
      {
        namespace: name,
        description: 'd',
        ownerEmail: 'o@example.com',
        workflowExecutionRetentionPeriod: seconds(86_400),
        data: { k: 'v' },
      },
    ],
    ['RegisterNamespace', { namespace: name, workflowExecutionRetentionPeriod: seconds(3 * 86_400) }],
    ['DescribeNamespace', { namespace: name }],
    ['DescribeNamespace', { namespace: 'default' }],
    ['DescribeNamespace', { namespace: '', id: '00000000-0000-4000-8000-000000000000' }],
    ['ListSearchAttributes', { namespace: 'default' }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: { DiffKeyword: 'INDEXED_VALUE_TYPE_KEYWORD' } }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: { DiffKeyword: 'INDEXED_VALUE_TYPE_INT' } }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: { WorkflowId: 'INDEXED_VALUE_TYPE_KEYWORD' } }],
    ['AddSearchAttributes', { namespace: 'default', searchAttributes: {} }],
    ['RemoveSearchAttributes', { namespace: 'default', searchAttributes: ['NotThere'] }],
    ['RemoveSearchAttributes', { namespace: 'default', searchAttributes: ['WorkflowId'] }],
    ['StartWorkflowExecution', { ...startRequest(), namespace: name }],
  ];
  return times(prng.int(3, 6), () => {
    const [method, request] = prng.pick(calls);
    return [call(method, prng.chance(0.4) ? mutated(prng, request) : request)];
  });
}
