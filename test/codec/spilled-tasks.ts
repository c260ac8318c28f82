/** Tasks of a backlog, as records and rows have them. */
import fc from 'fast-check';
import type { SpilledTask } from '../../src/matching/matching-records.ts';

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: 'binary', maxLength: 20 });
const priorities = fc.record({ priorityKey: fc.nat(100), fairnessKey: text, fairnessWeight: fc.double({ min: 0, noNaN: true }) });

export const spilledTasks: fc.Arbitrary<SpilledTask> = fc
  .record({
    namespaceId: text,
    name: text,
    taskType: fc.constantFrom('workflow' as const, 'activity' as const),
    partition: fc.nat(100),
    workflowId: text,
    runId: text,
    historyShard: fc.nat(10_000),
    scheduledEventId: count,
    stamp: count,
    expiryTimeMs: count,
    taskId: count,
    priority: fc.option(priorities, { nil: undefined }),
    shared: fc.nat(20),
    id: count,
  })
  .map(({ namespaceId, name, taskType, partition, workflowId, runId, id, shared, ...task }) => ({
    id,
    queue: { namespaceId, name, taskType, partition, kind: 'normal' as const },
    task: { key: { namespaceId, workflowId, runId }, ...task },
    shared,
  }));
