/**
 * The life of a partition's actor, as health, operators and metrics see it. Commands do not pass through here.
 *
 *     unassigned ─▶ restoring ─▶ replaying ─▶ claiming ─▶ active ─▶ draining ─▶ released
 *          ▲            ▲                      │    ▲        │
 *          │            └─ refold (memory ─────┘    └─ doubt ┘
 *          │               is dropped)
 *          └───── lost: from every state that could own, when a rival's claim counts
 *
 *     failed: a record that cannot be applied, or a log that lost records. Needs a person; `assign` tries again.
 */
import { initialTransition, setup, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';

export const partitionStates = ['unassigned', 'restoring', 'replaying', 'claiming', 'active', 'draining', 'released', 'failed'] as const;
export type PartitionState = (typeof partitionStates)[number];

export const partitionEvents = [
  'assign',
  'restored',
  'replayed',
  'claimed',
  'doubt',
  'refold',
  'drain',
  'drained',
  'lost',
  'fail',
  'close',
] as const;
export type PartitionEvent = (typeof partitionEvents)[number];

const whileOwning = { lost: 'unassigned', fail: 'failed', close: 'released' } as const;

export const partitionMachine = setup({
  types: { events: {} as { readonly type: PartitionEvent } },
}).createMachine({
  id: 'partition',
  initial: 'unassigned',
  states: {
    unassigned: { on: { assign: 'restoring', close: 'released' } },
    restoring: { on: { ...whileOwning, restored: 'replaying', drain: 'released' } },
    replaying: { on: { ...whileOwning, replayed: 'claiming', drain: 'released' } },
    claiming: { on: { ...whileOwning, claimed: 'active', refold: 'restoring', drain: 'released' } },
    active: { on: { ...whileOwning, doubt: 'claiming', drain: 'draining' } },
    draining: { on: { ...whileOwning, drained: 'released' } },
    released: { on: { assign: 'restoring' } },
    failed: { on: { assign: 'restoring', close: 'released' } },
  },
});

/** One actor's place in the machine. */
export class PartitionLife {
  #snapshot: SnapshotFrom<typeof partitionMachine> = initialTransition(partitionMachine)[0];
  #state: PartitionState = this.#snapshot.value;

  get state(): PartitionState {
    return this.#state;
  }

  /** False, and nothing changes, when the event means nothing in this state. */
  send(type: PartitionEvent): boolean {
    if (!this.#snapshot.can({ type })) return false;
    this.#snapshot = transition(partitionMachine, this.#snapshot, { type })[0];
    this.#state = this.#snapshot.value;
    return true;
  }
}
