/** The families of programs, and the program of a seed: which family it is of is drawn first. */
import { Prng } from '../../simulation/prng.ts';
import type { Program } from '../program.ts';
import { activities, activityCalls } from './activities.ts';
import { activityOperations } from './activity-operations.ts';
import { administration } from './administration.ts';
import { batches } from './batches.ts';
import { callbacks } from './callbacks.ts';
import { children } from './children.ts';
import { clients } from './clients.ts';
import { closing } from './closing.ts';
import { lives } from './lives.ts';
import { multiOperations } from './multi-operations.ts';
import { namespaces } from './namespaces.ts';
import { pauses } from './pauses.ts';
import { queries } from './queries.ts';
import { queueConfigs } from './queue-configs.ts';
import { reading } from './reading.ts';
import { resets } from './resets.ts';
import { scheduleSpecs } from './schedule-specs.ts';
import { schedules } from './schedules.ts';
import { starts } from './starts.ts';
import { taskQueues } from './task-queues.ts';
import { updates } from './updates.ts';
import { workers } from './workers.ts';
import { commandChecks, tasks } from './workflow-tasks.ts';
import type { Family } from './steps.ts';

const families: { readonly [name: string]: Family } = {
  starts,
  clients,
  reading,
  commandChecks,
  tasks,
  activities,
  activityCalls,
  children,
  queries,
  closing,
  taskQueues,
  administration,
  updates,
  multiOperations,
  resets,
  lives,
  activityOperations,
  pauses,
  schedules,
  scheduleSpecs,
  batches,
  namespaces,
  queueConfigs,
  workers,
  callbacks,
};

export const familyNames = Object.keys(families);

export function programOf(seed: number, only: readonly string[]): Program {
  const prng = new Prng(seed);
  const family = prng.pick(only.length === 0 ? familyNames : only);
  const make = families[family];
  if (make === undefined) throw new Error(`there is no family ${family}; there are ${familyNames.join(', ')}`);
  return { family, seed, steps: make(prng) };
}
