import type { Front } from '../front.ts';
import type { Service } from '../transport/call.ts';
import { activityTaskMethods } from './activity-tasks.ts';
import { describeMethods } from './describe.ts';
import { historyMethods } from './history.ts';
import { lifecycleMethods } from './lifecycle.ts';
import { namespaceMethods } from './namespaces.ts';
import { queryMethods } from './query.ts';
import { serverInfoMethods } from './server-info.ts';
import { startMethods } from './start.ts';
import { taskQueueMethods } from './task-queues.ts';
import { workflowTaskMethods } from './workflow-tasks.ts';

export const workflowServiceName = 'temporal.api.workflowservice.v1.WorkflowService';

/** Methods that are not listed here answer UNIMPLEMENTED in the transport's one wording. */
export function workflowService(front: Front): Service {
  return {
    name: workflowServiceName,
    methods: new Map([
      ...serverInfoMethods(front),
      ...namespaceMethods(front),
      ...startMethods(front),
      ...lifecycleMethods(front),
      ...describeMethods(front),
      ...queryMethods(front),
      ...historyMethods(front),
      ...workflowTaskMethods(front),
      ...activityTaskMethods(front),
      ...taskQueueMethods(front),
    ]),
  };
}
