/** Which namespaces are not read for a while, and for how long. */
import { expect, test } from 'vitest';
import { NamespaceShares } from '../../src/grpc/transport/namespace-shares.ts';

const costOfCall = 50;

/** An event loop of turns that are told how long they were busy, and idle before. */
class Loop {
  readonly #shares = new NamespaceShares<string>({ active: 0, idle: 0 });
  #active = 0;
  #idle = 0;

  turn(calls: Readonly<Record<string, number>>, busyMs: number, idleMs = 0): void {
    this.#active += busyMs;
    this.#idle += idleMs;
    for (const [name, count] of Object.entries(calls)) this.#shares.read(this.#of(name), count * costOfCall);
    this.#shares.turned({ active: this.#active, idle: this.#idle }, this.#active + this.#idle);
  }

  rests(name: string): boolean {
    return this.#shares.rests(this.#of(name));
  }

  resting(): readonly string[] {
    return this.#shares.resting().map(({ namespace }) => namespace);
  }

  leaves(name: string): void {
    this.#shares.leave(name, this.#of(name));
  }

  #of(name: string) {
    const share = this.#shares.of(name);
    share.connections.add(name);
    return share;
  }
}

/** Both have asked, and orders has a turn of five hundred calls. */
function crowded(): Loop {
  const loop = new Loop();
  loop.turn({ orders: 1, billing: 1 }, 1);
  loop.turn({ orders: 500 }, 50);
  return loop;
}

test('who crowds a turn rests until others have had as much of the event loop', () => {
  const loop = crowded();
  expect(loop.resting()).toEqual(['orders']);
  let turns = 0;
  while (loop.rests('orders') && turns < 1_000) {
    loop.turn({ billing: 1 }, 1);
    turns += 1;
  }
  expect(turns).toBeGreaterThan(30);
  // What orders has asked for at once counts as its work for some dozens of turns.
  expect(turns).toBeLessThan(260);
  expect(loop.resting()).toEqual([]);
});

test('its rest ends when others leave the event loop idle', () => {
  const loop = crowded();
  loop.turn({ billing: 1 }, 1, 9);
  expect(loop.resting()).toEqual([]);
});

test('no rest is longer than a quarter of a second, whatever keeps the event loop busy', () => {
  const loop = crowded();
  for (let turn = 0; turn < 19; turn++) loop.turn({}, 10);
  expect(loop.rests('orders')).toBe(true);
  for (let turn = 0; turn < 2; turn++) loop.turn({}, 10);
  expect(loop.resting()).toEqual([]);
});

test('alone, a namespace never rests; nor when the others have gone', () => {
  const alone = new Loop();
  for (let turn = 0; turn < 10; turn++) alone.turn({ orders: 500 }, 50);
  expect(alone.resting()).toEqual([]);
  const left = crowded();
  left.leaves('billing');
  expect(left.resting()).toEqual([]);
});

test('who is read little by little never rests, however much that costs in the end', () => {
  const loop = new Loop();
  for (let turn = 0; turn < 100; turn++) loop.turn({ orders: 20, billing: turn % 20 === 0 ? 1 : 0 }, 4);
  expect(loop.resting()).toEqual([]);
});

test('the work of a call is its namespace’s, also in turns that read nothing of it', () => {
  const loop = new Loop();
  loop.turn({ orders: 1, billing: 1 }, 1);
  loop.turn({ orders: 500 }, 3);
  expect(loop.resting(), 'not much yet').toEqual([]);
  loop.turn({ billing: 1 }, 30);
  expect(loop.resting()).toEqual(['orders']);
});

test('who comes back has no right to what it did not use', () => {
  const loop = new Loop();
  loop.turn({ billing: 1 }, 1);
  for (let turn = 0; turn < 20; turn++) loop.turn({ orders: 500 }, 50);
  // It asks again after a second in which orders was alone.
  loop.turn({ billing: 1 }, 1);
  loop.turn({ orders: 500 }, 50);
  let turns = 0;
  while (loop.rests('orders') && turns < 1_000) {
    loop.turn({ billing: 1 }, 1);
    turns += 1;
  }
  // What orders has asked for at once counts as its work for some dozens of turns.
  expect(turns).toBeLessThan(260);
});

test('three that ask have a third each', () => {
  const loop = new Loop();
  loop.turn({ orders: 1, stock: 1, billing: 1 }, 3);
  const had = { orders: 0, stock: 0, billing: 0 };
  for (let turn = 0; turn < 3_000; turn++) {
    const name = (['orders', 'stock'] as const).find((each) => !loop.rests(each) && had[each] <= had.billing + 50) ?? 'billing';
    const ms = name === 'billing' ? 1 : 20;
    had[name] += ms;
    loop.turn({ [name]: name === 'billing' ? 1 : 200 }, ms);
  }
  const all = had.orders + had.stock + had.billing;
  expect(had.billing / all).toBeGreaterThan(0.25);
});

test('whose connection names another namespace in between is no newcomer when it comes back', () => {
  const loop = crowded();
  loop.leaves('orders');
  loop.turn({ billing: 1 }, 1);
  loop.turn({ orders: 1, billing: 1 }, 1);
  expect(loop.resting()).toEqual(['orders']);
});

test('nobody rests for connections that have named no namespace; they rest for others', () => {
  const loop = new Loop();
  for (let turn = 0; turn < 10; turn++) loop.turn({ orders: 500, '': 1 }, 50);
  expect(loop.resting()).toEqual([]);
  loop.turn({ billing: 1 }, 1);
  for (let turn = 0; turn < 3; turn++) loop.turn({ '': 500, billing: 1 }, 50);
  expect(loop.rests('')).toBe(true);
});
