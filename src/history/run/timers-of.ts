import { unreachable } from '../../kernel/assert.ts';
import type { Own, RunView } from './state.ts';

/** Ids of a run's timers but retention and callbacks, also of ended ones, and 0. No index by run, for which every command would pay. */
export function* timersOf(run: RunView): Iterable<number> {
  yield run.timeoutTaskId;
  yield run.backoffTaskId;
  yield run.workflowTask?.timeoutTaskId ?? 0;
  yield* timersOfArchetype(run.own);
  for (const activity of run.activities.values()) yield activity.timerTaskId;
  for (const timer of run.timers.values()) yield timer.taskId;
}

function timersOfArchetype(own: Own): readonly number[] {
  switch (own.archetype) {
    case 'workflow':
      return [];
    case 'schedule':
      return [own.wakeTaskId, own.letterCheckTaskId];
    case 'batch':
      return [own.stepTaskId];
    default:
      return unreachable(own);
  }
}
