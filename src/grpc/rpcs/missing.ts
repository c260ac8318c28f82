/**
 * Why an RPC that clients know of does no work. Some answer one sentence whatever they are asked: Temporal's where the feature is off or gone,
 * which SDKs and tools know. Where Temporal has a switch and Perdure has none it goes on to say so, or people would look for it.
 */
import { statusCode } from '../errors/status-error.ts';
import type { Missing } from './rpc.ts';

const { unimplemented, permissionDenied } = statusCode;
const noSwitch = 'this server does not support it yet';
export const standaloneActivity = `Standalone activity is disabled: ${noSwitch}`;

const later = (family: string, text?: string): Missing => ({
  why: `later: ${family}`,
  ...(text === undefined ? {} : { refusal: { code: unimplemented, text } }),
});
const byDesign = (why: string, code: typeof unimplemented | typeof permissionDenied, text: string): Missing => ({
  why: `refused by design: ${why}`,
  refusal: { code, text },
});

export const workerDeployments = later('worker deployments');
export const nexus = later('Nexus');
export const nexusOperations = later('Nexus', `Standalone Nexus operation is disabled: ${noSwitch}`);
export const standaloneActivities = later('standalone activities', standaloneActivity);
export const timeSkipping = later('time skipping', `The Time-Skipping feature is not enabled for namespace: ${noSwitch}`);
export const workflowRule = (method: string): Missing => later('workflow rules', `method ${method} not supported`);

export const deadDeployments = byDesign(
  'gone from Temporal too',
  unimplemented,
  'Deployments are deprecated and no longer supported, use Worker Deployments instead',
);
export const versionSets = byDesign(
  'off in Temporal too: version sets are deprecated',
  permissionDenied,
  'Worker versioning v0.1 (Version Set-based, deprecated) is disabled on this namespace.',
);
export const versioningRules = byDesign(
  'off in Temporal too: versioning rules are deprecated',
  permissionDenied,
  'Worker versioning v0.2 (Rules-based, deprecated) is disabled on this namespace.',
);
export const workerConfig = (method: string): Missing =>
  byDesign('off in Temporal too', unimplemented, `${method} command is not enabled: ${noSwitch}`);
export const remoteClusters: Missing = { why: 'refused by design: no replication between clusters' };
export const notYet: Missing = { why: '*not yet*' };
