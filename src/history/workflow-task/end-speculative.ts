/** A speculative workflow task whose time is up. Whatever comes next is written, so it becomes a real one first. */
import { unreachable } from '../../kernel/assert.ts';
import type { Draft } from '../draft.ts';
import { findRun } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { isRunning } from '../state.ts';
import type { EndSpeculative } from '../update/update-commands.ts';
import { writeNotPolled, writeWorkflowTaskTimedOut } from './fail-workflow-task.ts';
import { scheduleWorkflowTask } from './workflow-task.ts';

const done: HistoryReply = { kind: 'done' };

export function endSpeculative(draft: Draft, command: EndSpeculative): HistoryReply {
  const run = findRun(draft.shard, command.key);
  const task = draft.volatile.speculative.get(command.key.runId);
  if (run === undefined || !isRunning(run) || task === undefined) return done;
  if (task.scheduledEventId !== command.scheduledEventId || draft.shard.aside.has(run.key.runId)) return done;
  const isStarted = task.startedEventId !== 0;
  const { because } = command;
  if ((isStarted ? task.startedTimeMs : task.scheduledTimeMs) !== command.sinceMs || isStarted !== (because === 'startToClose'))
    return done;
  const ending = draft.open(run);
  ending.ensureReal();
  switch (because) {
    case 'scheduleToStart':
      // The next one waits in its queue as long as it takes.
      writeNotPolled(ending);
      break;
    case 'startToClose':
      writeWorkflowTaskTimedOut(ending);
      break;
    default:
      return unreachable(because);
  }
  scheduleWorkflowTask(ending, { jitter: command.jitter });
  return done;
}
