/** What operators set about heartbeats of workers: by the names of Temporal's dynamic configuration, and `perdure.workerRegistry` of our own. */
import { durationSetting, onOff, wholeNumber } from './dynamic-setting.ts';

/** Of a process with a whole heap (memory.ts). */
const mebibyte = 2 ** 20;

export const workerSettings = {
  ttlMs: durationSetting('matching.workerRegistryEntryTTL', {
    min: '1s',
    max: '24h',
    default: 300_000,
    about: 'How long a worker is listed after its last heartbeat.',
  }),
  workersMax: wholeNumber('matching.workerRegistryMaxEntries', {
    min: 0,
    max: 10_000_000,
    default: 1_000_000,
    about: 'Workers that are known, of all namespaces together.',
  }),
  bytesMax: wholeNumber('perdure.workerRegistry.bytesMax', {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: 32 * mebibyte,
    about: 'Bytes of heartbeats of workers that are kept, of all namespaces together; less where the heap is small.',
  }),
};

/** Asked with the name of a namespace. */
export const workerHeartbeatSettings = {
  enabled: {
    ...onOff('frontend.WorkerHeartbeatsEnabled', {
      default: true,
      about: 'Whether workers are told to send heartbeats, and whether these are kept.',
    }),
    scope: 'namespace' as const,
  },
  waitsForPolls: {
    ...onOff('frontend.enableCancelWorkerPollsOnShutdown', {
      default: false,
      about: 'Whether workers that stop are told to wait for their polls, which ShutdownWorker ends at once either way.',
    }),
    scope: 'namespace' as const,
  },
};
