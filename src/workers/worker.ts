/** What is known of a worker: what its last heartbeat says. */

/** The part of a heartbeat that lists can ask for. Texts are '' and times undefined where the heartbeat has none. */
export type WorkerFields = {
  /** Unique in its namespace. */
  readonly instanceKey: string;
  readonly identity: string;
  readonly hostName: string;
  readonly taskQueue: string;
  readonly deploymentName: string;
  readonly buildId: string;
  readonly sdkName: string;
  readonly sdkVersion: string;
  /** The name of its state: `Running`. */
  readonly status: string;
  readonly startTimeMs: number | undefined;
  readonly heartbeatTimeMs: number | undefined;
};

export type Worker = {
  readonly fields: WorkerFields;
  /** The heartbeat as it came. */
  readonly heartbeat: Uint8Array;
};

/** Queues of workers that a server starts for itself. Lists leave those workers out unless they are asked for. */
const systemQueuePrefix = 'temporal-sys-';

export function isSystemWorker({ fields }: Worker): boolean {
  return fields.taskQueue.startsWith(systemQueuePrefix);
}
