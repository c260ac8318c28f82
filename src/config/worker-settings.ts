/** What operators set about heartbeats of workers: by the names of Temporal's dynamic configuration, and `perdure.workerRegistry` of our own. */
import { durationSetting, onOff, wholeNumber } from './dynamic-setting.ts';

const mebibyte = 2 ** 20;

export const workerSettings = {
  ttlMs: durationSetting('matching.workerRegistryEntryTTL', {
    range: ['1s', '24h'],
    default: 300_000,
    about: 'How long a worker is listed after its last heartbeat.',
  }),
  workersMax: wholeNumber('matching.workerRegistryMaxEntries', {
    range: [0, 10_000_000],
    default: 1_000_000,
    about: 'Workers that are kept in the registry, over all namespaces.',
  }),
  bytesMax: wholeNumber('perdure.workerRegistry.bytesMax', {
    range: [0, Number.MAX_SAFE_INTEGER],
    default: 32 * mebibyte,
    about: 'Bytes of worker heartbeats that are kept, over all namespaces; less with a small heap.',
  }),
};

/** Asked with the name of a namespace. */
export const workerHeartbeatSettings = {
  enabled: onOff('frontend.WorkerHeartbeatsEnabled', {
    scope: 'namespace',
    default: true,
    about: 'Whether workers are told to send heartbeats, and whether these are kept.',
  }),
  waitsForPolls: onOff('frontend.enableCancelWorkerPollsOnShutdown', {
    scope: 'namespace',
    default: false,
    about: 'Whether stopping workers are told to wait for their polls. ShutdownWorker ends these at once either way.',
  }),
};
