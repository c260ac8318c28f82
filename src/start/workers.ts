/** The registry of workers, put together: what operators set, and the share of memory that it has. */
import type { DynamicValues } from '../config/dynamic-config.ts';
import { workerHeartbeatSettings, workerSettings } from '../config/worker-settings.ts';
import { WorkerRegistry } from '../workers/worker-registry.ts';

export type Workers = {
  readonly registry: WorkerRegistry;
  readonly isEnabled: (namespace: string) => boolean;
  readonly waitForPolls: (namespace: string) => boolean;
};

/** `share`: of the limit of bytes, where the heap is small. */
export function workersOf(config: DynamicValues, share: number): Workers {
  const limits = (): ReturnType<typeof config.values<typeof workerSettings>> => {
    const values = config.values(workerSettings);
    return share === 1 ? values : { ...values, bytesMax: Math.floor(share * values.bytesMax) };
  };
  return {
    registry: new WorkerRegistry(limits),
    isEnabled: (namespace) => config.values(workerHeartbeatSettings, { namespace }).enabled,
    waitForPolls: (namespace) => config.values(workerHeartbeatSettings, { namespace }).waitsForPolls,
  };
}
