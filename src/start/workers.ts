import type { DynamicValues } from '../config/dynamic-config.ts';
import { workerHeartbeatSettings, workerSettings } from '../config/worker-settings.ts';
import { WorkerRegistry } from '../workers/worker-registry.ts';

export type Workers = {
  readonly registry: WorkerRegistry;
  readonly isEnabled: (namespace: string) => boolean;
  readonly waitForPolls: (namespace: string) => boolean;
};

/** `share` reduces the limit of bytes on a small heap. */
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
