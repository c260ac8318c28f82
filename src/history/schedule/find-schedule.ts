/** The run that carries a schedule. */
import type { RunKey } from '../../kernel/run-key.ts';
import { findRun, reject } from '../reject.ts';
import type { Rejected } from '../replies.ts';
import { isRunning, type RunView, type ShardView } from '../state.ts';
import type { Schedule } from './schedule-state.ts';

export type ScheduleRun = RunView & { readonly schedule: Schedule };

export function findSchedule(shard: ShardView, key: RunKey): ScheduleRun | Rejected {
  const run = findRun(shard, key);
  return run !== undefined && isSchedule(run) ? run : scheduleNotFound;
}

function isSchedule(run: RunView): run is ScheduleRun {
  return run.schedule !== undefined && isRunning(run);
}

const scheduleNotFound = reject({ reason: 'schedule-not-found', message: 'schedule not found' });
