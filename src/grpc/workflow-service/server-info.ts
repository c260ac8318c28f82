import * as wire from '../../wire/generated/lean/namespace_service.ts';
import { supportedClients } from '../interceptors/client-versions.ts';
import { methodsOf } from '../method.ts';

/** Only what is true: an SDK uses whatever stands here. INTERNAL is kept for bugs of ours, so clients need not retry it. */
const capabilities: wire.GetSystemInfoResponseCapabilities = {
  signalAndQueryHeader: true,
  internalErrorDifferentiation: true,
  activityFailureIncludeHeartbeat: true,
  supportsSchedules: true,
  encodedFailureAttributes: true,
  // What SDKs make of it: workers say their build id with each completed task, and a workflow reads it from its history. Workers that want tasks
  // by their build id are refused by name.
  buildIdBasedVersioning: true,
  upsertMemo: true,
  eagerWorkflowStart: true,
  sdkMetadata: true,
  countGroupByExecutionStatus: true,
  nexus: false,
  serverScaledDeployments: false,
  serverScaledProviderCloudRun: false,
};

/** What every connection asks first, and what the CLI and the UI show of a cluster. */
export const serverInfoMethods = methodsOf(wire.codecs, {
  GetSystemInfo: ({ ports: { server } }) => ({ serverVersion: server.version, capabilities }),
  GetClusterInfo: ({ ports: { server } }) => {
    const { version: serverVersion, clusterId, clusterName, historyShards: historyShardCount, persistenceStore, visibilityStore } = server;
    const described = { serverVersion, clusterId, clusterName, historyShardCount, persistenceStore, visibilityStore };
    return { ...wire.emptyGetClusterInfoResponse(), supportedClients, ...described };
  },
});
