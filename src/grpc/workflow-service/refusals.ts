/**
 * RPCs that answer one sentence whatever they are asked, which is Temporal's where that feature is off, or gone for good. SDKs and tools know
 * these sentences; an RPC that is in no table at all is refused by its name. Where Temporal has a switch and Perdure has none the sentence goes on
 * to say so, or people would look for it.
 */
import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';
import type { NamedMethod } from '../method.ts';

const { unimplemented, permissionDenied } = statusCode;
const deadDeployments = 'Deployments are deprecated and no longer supported, use Worker Deployments instead';
const versionSets = 'Worker versioning v0.1 (Version Set-based, deprecated) is disabled on this namespace.';
const versioningRules = 'Worker versioning v0.2 (Rules-based, deprecated) is disabled on this namespace.';
const noSwitch = 'this server does not support it yet';
export const standaloneActivity = `Standalone activity is disabled: ${noSwitch}`;
const nexusOperation = `Standalone Nexus operation is disabled: ${noSwitch}`;

type Refusal = readonly [code: typeof unimplemented | typeof permissionDenied, text: string, names: readonly string[]];

const refusals: readonly Refusal[] = [
  [
    unimplemented,
    deadDeployments,
    ['DescribeDeployment', 'ListDeployments', 'GetDeploymentReachability', 'GetCurrentDeployment', 'SetCurrentDeployment'],
  ],
  [permissionDenied, versionSets, ['UpdateWorkerBuildIdCompatibility', 'GetWorkerBuildIdCompatibility']],
  [permissionDenied, versioningRules, ['UpdateWorkerVersioningRules', 'GetWorkerVersioningRules', 'GetWorkerTaskReachability']],
  ...['FetchWorkerConfig', 'UpdateWorkerConfig'].map((name): Refusal => [
    unimplemented,
    `${name} command is not enabled: ${noSwitch}`,
    [name],
  ]),
  ...['CreateWorkflowRule', 'DescribeWorkflowRule', 'DeleteWorkflowRule', 'ListWorkflowRules', 'TriggerWorkflowRule'].map(
    (name): Refusal => [unimplemented, `method ${name} not supported`, [name]],
  ),
  [
    unimplemented,
    standaloneActivity,
    [
      'StartActivityExecution',
      'DescribeActivityExecution',
      'PollActivityExecution',
      'ListActivityExecutions',
      'CountActivityExecutions',
      'RequestCancelActivityExecution',
      'TerminateActivityExecution',
      'DeleteActivityExecution',
    ],
  ],
  [
    unimplemented,
    nexusOperation,
    [
      'StartNexusOperationExecution',
      'DescribeNexusOperationExecution',
      'PollNexusOperationExecution',
      'ListNexusOperationExecutions',
      'CountNexusOperationExecutions',
      'RequestCancelNexusOperationExecution',
      'TerminateNexusOperationExecution',
      'DeleteNexusOperationExecution',
    ],
  ],
  [unimplemented, `The Time-Skipping feature is not enabled for namespace: ${noSwitch}`, ['PollWorkflowExecutionTimeSkipping']],
];

export const refusedMethods: readonly NamedMethod[] = refusals.flatMap(([code, text, names]) =>
  names.map((name): NamedMethod => [
    name,
    {
      kind: 'unary',
      handle: () => {
        throw new StatusError(code, text);
      },
    },
  ]),
);
