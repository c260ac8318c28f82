/**
 * Random workflows and random filters over what they have: the same of one seed, for any server.
 *
 * In filters stands what only a server knows, as play.ts finds it:
 *
 *     $T3$, $NS3$      a time between the third workflow and the next, as a date and in nanoseconds
 *     $RUN3$           the run id of a run, from 0
 */
import { Prng } from '../../simulation/prng.ts';
import { drawnQueries, type Asked } from './queries.ts';
import { drawnWorkflow, type Workflow } from './workflows.ts';

export type DataSet = {
  readonly seed: number;
  readonly workflows: readonly Workflow[];
  readonly asked: readonly Asked[];
};

const workflowsPerSet = 12;

export function dataSetOf(seed: number, { conditions, mutated }: { readonly conditions: number; readonly mutated: number }): DataSet {
  const prng = new Prng(seed);
  const workflows = Array.from({ length: workflowsPerSet }, (_, nth) => drawnWorkflow(prng, `${seed}-${nth}`));
  const asked = drawnQueries(prng, { seed, workflows }, { conditions, mutated });
  return { seed, workflows, asked };
}
