import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { seconds } from './requests.ts';
import { times } from './steps.ts';

const namespace = '$W0-namespace';

/** A namespace of the program's own that is changed, deprecated and deleted. */
export function namespaces(prng: Prng): readonly Step[] {
  const register: Fields = {
    namespace,
    description: 'first',
    ownerEmail: 'o@example.com',
    workflowExecutionRetentionPeriod: seconds(86_400),
    data: { k: 'v', kept: 'yes' },
  };
  return [
    call('RegisterNamespace', prng.chance(0.15) ? bent(prng, register) : register),
    ...times(prng.int(2, 4), () => [change(prng), call('DescribeNamespace', { namespace })]),
    ...(prng.chance(0.2) ? [call('DeleteNamespace', prng.chance(0.3) ? bent(prng, { namespace }) : { namespace })] : []),
  ];
}

/** Never that of the other programs. */
function bent(prng: Prng, request: Fields): Fields {
  return { namespace: '', ...mutated(prng, request) };
}

function change(prng: Prng): Step {
  const [method, request] = prng.pick<() => readonly [string, Fields]>([
    () => ['UpdateNamespace', update(prng)],
    () => ['UpdateNamespace', update(prng)],
    () => ['UpdateNamespace', update(prng)],
    () => ['DeprecateNamespace', { namespace }],
    () => ['DescribeNamespace', { namespace: prng.pick(['$W9-nothing', namespace]) }],
  ])();
  return call(method, prng.chance(0.3) ? bent(prng, request) : request);
}

function update(prng: Prng): Fields {
  const optional = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(() => prng.chance(0.5)));
  return {
    namespace,
    updateInfo: optional({
      description: 'second',
      ownerEmail: 'p@example.com',
      data: { k: 'w', more: 'x' },
      state: `NAMESPACE_STATE_${prng.pick(['REGISTERED', 'DEPRECATED', 'UNSPECIFIED'])}`,
    }),
    ...(prng.chance(0.5)
      ? {
          config: optional({
            workflowExecutionRetentionTtl: seconds(prng.pick([2 * 86_400, 3_600, 60, 0])),
            badBinaries: { binaries: { checksum: { reason: 'broken', operator: 'me' } } },
          }),
        }
      : {}),
    ...(prng.chance(0.1) ? { deleteBadBinary: prng.pick(['checksum', 'nothing']) } : {}),
    ...(prng.chance(0.1) ? { promoteNamespace: true } : {}),
  };
}
