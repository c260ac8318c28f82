import { expect, test } from 'vitest';
import { transition } from 'xstate';
import { PartitionLife, claimingWith, partitionMachine, partitionStates } from '../../../src/actors/ownership/partition-life.ts';
import type { PartitionEvent, PartitionState, Service } from '../../../src/actors/ownership/partition-life.ts';

/** Every cell is decided: '-' = the event means nothing in that state and changes nothing. A new state or event does not compile. */
type Next = PartitionState | '-';
// prettier-ignore
const table: Record<PartitionState, Record<PartitionEvent, Next>> = {
  unassigned: { assign: 'restoring', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: '-', fail: '-', close: 'released' },
  restoring: { assign: '-', restored: 'replaying', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  replaying: { assign: '-', restored: '-', replayed: 'claiming', claimed: '-', doubt: '-', refold: 'restoring', drain: '-', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  claiming: { assign: '-', restored: '-', replayed: '-', claimed: 'active', doubt: '-', refold: 'restoring', drain: '-', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  active: { assign: '-', restored: '-', replayed: '-', claimed: '-', doubt: 'claiming', refold: '-', drain: 'draining', drained: '-', lost: 'unassigned', fail: 'failed', close: 'released' },
  draining: { assign: '-', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: 'released', lost: 'unassigned', fail: 'failed', close: 'released' },
  released: { assign: 'restoring', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: '-', fail: '-', close: '-' },
  failed: { assign: 'restoring', restored: '-', replayed: '-', claimed: '-', doubt: '-', refold: '-', drain: '-', drained: '-', lost: '-', fail: '-', close: 'released' },
};

const partitionEvents = Object.keys(table.unassigned) as readonly PartitionEvent[];

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

test('an event without a transition is refused, and changes nothing', () => {
  const life = new PartitionLife();
  expect(life.can('replayed')).toBe(false);
  expect(() => life.enter('replayed', claimingWith(undefined, { kind: 'none' }))).toThrow("'replayed' means nothing");
  expect(life.now).toEqual({ state: 'unassigned', reason: '', rival: undefined });
  life.enter('assign', { state: 'restoring' });
  expect(life.state).toBe('restoring');
});

test('what an owner that serves knows of its appends stays while it drains, and goes with its service', () => {
  const life = new PartitionLife();
  life.enter('assign', { state: 'restoring' });
  life.enter('restored', { state: 'replaying' });
  life.enter('replayed', claimingWith(undefined, { kind: 'none' }));
  expect([life.service, life.hasServed]).toEqual([undefined, false]);
  const service: Service = { underWay: undefined, suspect: false, again: [] };
  life.enter('claimed', { state: 'active', service });
  life.enter('drain', { state: 'draining', service, onReleased: () => {} });
  expect([life.service, life.hasServed]).toEqual([service, true]);
  life.enter('drained', { state: 'released', reason: '', rival: undefined });
  expect([life.service, life.hasServed]).toEqual([undefined, true]);
});
