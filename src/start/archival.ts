import type { ClusterHost } from '../actors/cluster/cluster-host.ts';
import type { Router } from '../actors/asks/router.ts';
import type { TaskCapture } from '../actors/history/hand-over/task-capture.ts';
import { archiveRunner } from '../actors/history/side-tasks/archive-tasks.ts';
import { letterCheckRunner } from '../actors/history/side-tasks/letter-checks.ts';
import type { SideRunners } from '../actors/history/side-tasks/side-tasks.ts';
import { systemClock } from '../ports/system-ports.ts';
import { FileArchiver } from '../archival/file-archiver.ts';
import type { ArchivalOptions } from '../config/archival.ts';
import type { ArchivalPort } from '../ports/archiver.ts';

export type Archival = {
  readonly isArchiving: boolean;
  readonly runners: SideRunners;
  readonly port: ArchivalPort | undefined;
};

export type ArchivalSetting = {
  readonly options: ArchivalOptions | undefined;
  readonly cluster: Pick<ClusterHost, 'view'>;
  readonly router: Router;
  readonly historyShards: number;
  readonly capture: Pick<TaskCapture, 'queueNumberOf'>;
};

export function archivalOf({ options, cluster, router, historyShards, capture }: ArchivalSetting): Archival {
  const archiver = options === undefined ? undefined : new FileArchiver(options);
  const runners: SideRunners = {
    archiveExecution: archiveRunner({
      registry: cluster,
      router,
      historyShards,
      archiver: options?.isPaused === true ? undefined : archiver,
      clock: systemClock,
    }),
    letterCheck: letterCheckRunner({ router, queueNumberOf: (category) => capture.queueNumberOf(category), clock: systemClock }),
  };
  const port =
    options === undefined || archiver === undefined
      ? undefined
      : { namespaceDefault: options.namespaceDefault, isRead: options.isRead, archiver };
  return { isArchiving: options !== undefined, runners, port };
}
