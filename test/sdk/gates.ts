/**
 * A gate is where a scenario and its activities meet, in place of a sleep: the activity arrives and waits, the scenario sees it arrive,
 * does what has to happen meanwhile, and opens.
 *
 *   scenario   await gate.arrived ──── (signal, query, cancel …) ──── gate.open(value)
 *   activity   ───── arrive ──────────────── waits ────────────────── returns value
 *
 * Worker and scenario share a process, so a gate is a pair of promises in a map.
 */
export type Gate = {
  /** The first activity (attempt) has arrived. */
  readonly arrived: Promise<void>;
  /** What it was opened with: the other way round, an activity tells the scenario. */
  readonly opened: Promise<string>;
  open(value?: string): void;
};

type OpenableGate = Gate & { arrive(): Promise<string> };

const gates = new Map<string, OpenableGate>();

export function gateOf(workflowId: string, name: string): OpenableGate {
  const key = `${workflowId}/${name}`;
  const known = gates.get(key);
  if (known !== undefined) return known;
  const arrival = Promise.withResolvers<void>();
  const opening = Promise.withResolvers<string>();
  const gate: OpenableGate = {
    arrived: arrival.promise,
    opened: opening.promise,
    open: (value = 'opened') => opening.resolve(value),
    arrive: () => {
      arrival.resolve();
      return opening.promise;
    },
  };
  gates.set(key, gate);
  return gate;
}

/** The end of a scenario: nobody may be left waiting, or the worker could not stop. */
export function openGatesOf(workflowIdPrefix: string): void {
  for (const [key, gate] of gates) if (key.startsWith(workflowIdPrefix)) gate.open();
}
