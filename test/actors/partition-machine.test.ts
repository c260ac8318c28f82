import { expect, test } from 'vitest';
import { transition } from 'xstate';
import { partitionEvents, PartitionLife, partitionMachine, partitionStates } from '../../src/actors/partition-machine.ts';
import type { PartitionEvent, PartitionState } from '../../src/actors/partition-machine.ts';

/** Every cell is decided: '-' = the event means nothing in that state and changes nothing. A new state or event does not compile. */
type Next = PartitionState | '-';
// prettier-ignore
const table: Record<PartitionState, Record<PartitionEvent, Next>> = {
  unassigned: { assign: 'restoring', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: '-', fail: '-', close: 'released' },
  restoring: { assign: '-', restored: 'replaying', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: 'released', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  replaying: { assign: '-', restored: '-', replayed: 'claiming', claimed: '-', doubt: '-', refold: '-', drain: 'released', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  claiming: { assign: '-', restored: '-', replayed: '-', claimed: 'active', doubt: '-', refold: 'restoring', drain: 'released', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  active: { assign: '-', restored: '-', replayed: '-', claimed: '-', doubt: 'claiming', refold: '-', drain: 'draining', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  draining: { assign: '-', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: 'released', lost: 'unassigned', fail: 'failed', close: 'released' },
  released: { assign: 'restoring', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: '-', fail: '-', close: '-' },
  failed: { assign: 'restoring', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: '-', fail: '-', close: 'released' },
};

for (const state of partitionStates) {
  test(`${state}: every event`, () => {
    const snapshot = partitionMachine.resolveState({ value: state });
    for (const event of partitionEvents) {
      const wanted = table[state][event];
      expect(snapshot.can({ type: event }), `${state} × ${event}`).toBe(wanted !== '-');
      expect(transition(partitionMachine, snapshot, { type: event })[0].value, `${state} × ${event}`).toBe(wanted === '-' ? state : wanted);
    }
  });
}

test('the table names all states and events of the machine', () => {
  expect(Object.keys(partitionMachine.states).toSorted()).toEqual([...partitionStates].toSorted());
  expect(partitionMachine.events.toSorted()).toEqual([...partitionEvents].toSorted());
});

test('ownership can be lost, and the partition can fail, from every state that owns or is about to', () => {
  for (const state of ['restoring', 'replaying', 'claiming', 'active', 'draining'] as const) {
    expect([table[state].lost, table[state].fail, table[state].close]).toEqual(['unassigned', 'failed', 'released']);
  }
});

test('an event that means nothing is told so, and changes nothing', () => {
  const life = new PartitionLife();
  expect(life.send('claimed')).toBe(false);
  expect(life.state).toBe('unassigned');
  expect(life.send('assign')).toBe(true);
  expect(life.state).toBe('restoring');
});
