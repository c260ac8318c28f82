/** What shards are told of a cluster that has no dead letters, and any namespace. */
import type { TaskCapture } from '../../src/actors/history/hand-over/task-capture.ts';

/** Whatever fails is tried for ever. */
export const withoutLetters: TaskCapture = {
  queueNumberOf: () => undefined,
  clusterName: () => '',
  settingsOf: () => ({
    enabled: false,
    internalErrorsArePermanent: false,
    errorPattern: undefined,
    failuresMax: Infinity,
    transferFailuresMax: undefined,
    timerFailuresMax: undefined,
    replicationFailuresMax: Infinity,
  }),
  encodeTask: () => ({ valueType: '', value: new Uint8Array() }),
  node: '',
  build: '',
  group: '',
};

/** The retention of runs is that of the shard's limits. */
export const thereIs = (id: string) => ({ id, name: 'ns', registeredName: 'ns', state: 'registered' }) as never;
