/** How the history shards of this server handle tasks that fail for good: when that is, and which queue gets their dead letters. */
import type { ClusterHost } from '../actors/cluster/cluster-host.ts';
import type { TaskCapture } from '../actors/history/hand-over/task-capture.ts';
import { captureSettings } from '../config/dead-letter-settings.ts';
import { type DevFault, faultOf } from '../config/dev-faults.ts';
import type { DynamicValues } from '../config/dynamic-config.ts';
import { perdureBuild } from '../config/version.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';
import { encodeTaskInfo } from '../codec/task-info-codec.ts';

export type TaskCaptureSetting = {
  readonly cluster: Pick<ClusterHost, 'view'>;
  readonly dynamicConfig: DynamicValues;
  readonly prefix: string;
  readonly node: string;
  readonly metrics: MetricsRegistry | undefined;
  readonly devFaults: readonly DevFault[];
};

export function taskCapture({ cluster, dynamicConfig, prefix, node, metrics, devFaults }: TaskCaptureSetting): TaskCapture {
  const clusterName = (): string => cluster.view.identity?.clusterName ?? '';
  return {
    clusterName,
    queueNumberOf: (category) => {
      const source = clusterName();
      return cluster.view.deadLetterQueues.find((queue) => queue.category === category && queue.sourceCluster === source)?.number;
    },
    settingsOf: ({ namespace, shard }) => dynamicConfig.values(captureSettings, { namespace, shardId: shard }),
    encodeTask: encodeTaskInfo,
    node,
    build: perdureBuild(),
    group: `${prefix}-history`,
    ...(devFaults.length === 0
      ? {}
      : {
          faultOf: ({ taskId, key: { runId } }, { taskType, namespace }) => faultOf(devFaults, { taskType, namespace, runId, taskId }),
        }),
    ...(metrics === undefined ? {} : { metrics: metrics.of('history') }),
  };
}
