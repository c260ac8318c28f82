import type { HandlerContext } from '../handler-context.ts';
import { loadedWhenCalled, service, type NamedMethod } from '../method.ts';
import { workflowRpcs } from '../rpcs/workflow-rpcs.ts';
import type { Service } from '../transport/call.ts';
import { activityOperationMethods } from './activity-operations.ts';
import { activityTaskMethods } from './activity-tasks.ts';
import { describeMethods } from './describe.ts';
import { historyMethods } from './history.ts';
import { lifecycleMethods } from './lifecycle.ts';
import { multiOperationMethods } from './multi-operation.ts';
import { namespaceMethods } from './namespaces.ts';
import { queryMethods } from './query.ts';
import { resetMethods } from './reset.ts';
import { serverInfoMethods } from './server-info.ts';
import { startMethods } from './start.ts';
import { taskQueueMethods } from './task-queues.ts';
import { updateMethods } from './updates.ts';
import { workflowTaskMethods } from './workflow-tasks.ts';

export function workflowService(context: HandlerContext): Service {
  const late = (module: string, load: () => Promise<readonly NamedMethod[]>) => loadedWhenCalled(workflowRpcs, module, load);
  return service(workflowRpcs, [
    ...serverInfoMethods(context),
    ...namespaceMethods(context),
    ...startMethods(context),
    ...lifecycleMethods(context),
    ...resetMethods(context),
    ...describeMethods(context),
    ...queryMethods(context),
    ...updateMethods(context),
    ...multiOperationMethods(context),
    ...historyMethods(context),
    ...workflowTaskMethods(context),
    ...activityTaskMethods(context),
    ...activityOperationMethods(context),
    ...taskQueueMethods(context),
    ...late('workers', async () => (await import('./workers.ts')).workerMethods(context)),
    ...late('schedules', async () => (await import('./schedules.ts')).scheduleMethods(context)),
    ...late('batches', async () => (await import('./batches.ts')).batchMethods(context)),
    ...late('visibility', async () => (await import('./visibility.ts')).visibilityMethods(context)),
  ]);
}
