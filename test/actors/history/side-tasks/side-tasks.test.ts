import { expect, test } from 'vitest';
import { SideRoom } from '../../../../src/actors/history/side-tasks/side-room.ts';
import { type ArchiveTask, type SideAnswer, SideTasks } from '../../../../src/actors/history/side-tasks/side-tasks.ts';
import { systemClock } from '../../../../src/ports/system-ports.ts';
import { silentLogger } from '../../../../src/observability/logger.ts';
import { turns, until } from '../../../support/event-loop.ts';

const task = (taskId: number): ArchiveTask => ({
  kind: 'archiveExecution',
  taskId,
  key: { namespaceId: 'orders', workflowId: 'w', runId: `run ${taskId}` },
  fireTimeMs: 0,
});

test('an attempt that hangs has failed, as something that others need too; it keeps its place, and what comes of it at last is not heard', async () => {
  const ends: (() => void)[] = [];
  const room = new SideRoom(() => ({ placesMax: 1, placesPerDestinationMax: 1 }));
  const done: SideAnswer = { kind: 'done', command: { kind: 'archived', taskId: 1 } };
  const archiveExecution = {
    room,
    placeOf: () => ({ destination: '/mnt', namespaceId: 'orders' }),
    attemptMsMax: 20,
    attempt: () => new Promise<SideAnswer>((resolve) => ends.push(() => resolve(done))),
  };
  const side = new SideTasks({
    runners: { archiveExecution },
    tenure: { active: true },
    clock: systemClock,
    logger: silentLogger,
    isPending: () => true,
  });
  const answers: SideAnswer[] = [];
  side.run(task(1), (answer) => answers.push(answer));
  side.run(task(2), () => {});
  await until(() => answers.length === 1);
  expect(answers).toMatchObject([{ kind: 'failed', failure: { kind: 'failed', by: 'dependency', error: { errorType: 'TimedOut' } } }]);
  expect([room.running, room.waiting, ends.length]).toEqual([1, 1, 1]);
  ends[0]?.();
  await until(() => ends.length === 2);
  await turns();
  expect(answers).toHaveLength(1);
});
