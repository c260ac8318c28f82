import { describe, expect, test } from 'vitest';
import { SideRoom } from '../../../../src/actors/history/side-tasks/side-room.ts';

function roomOf(placesMax: number, placesPerDestinationMax: number) {
  const room = new SideRoom(() => ({ placesMax, placesPerDestinationMax }));
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const enter = (destination: string, name: string, namespaceId = 'orders'): void =>
    room.enter(
      { destination, namespaceId },
      () =>
        new Promise((resolve) => {
          begun.push(name);
          ends.set(name, resolve);
        }),
    );
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { room, begun, enter, end };
}

describe('a room for tasks that take their time', () => {
  test('runs so many at once, and the others in their order as places become free', async () => {
    const { room, begun, enter, end } = roomOf(2, 2);
    for (const name of ['a', 'b', 'c', 'd']) enter('disk', name);
    expect(begun).toEqual(['a', 'b']);
    expect([room.running, room.waiting]).toEqual([2, 2]);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    await end('c');
    await end('d');
    expect([room.running, room.waiting]).toEqual([0, 0]);
  });

  test('a destination that hangs takes no more than its places from the others', async () => {
    const { begun, enter, end } = roomOf(3, 1);
    for (let nth = 0; nth < 100; nth++) enter('hangs', `hangs ${nth}`);
    enter('answers', 'first');
    enter('answers', 'second');
    expect(begun).toEqual(['hangs 0', 'first']);
    await end('first');
    expect(begun).toEqual(['hangs 0', 'first', 'second']);
  });

  test('destinations have their turns one after the other, however long a line is', async () => {
    const { begun, enter, end } = roomOf(1, 1);
    for (const name of ['long 1', 'long 2', 'long 3']) enter('long', name);
    enter('short', 'short 1');
    for (const name of ['long 1', 'long 2', 'short 1']) await end(name);
    expect(begun).toEqual(['long 1', 'long 2', 'short 1', 'long 3']);
  });

  test('namespaces of one destination have their turns one after the other, however much one of them wants', async () => {
    const { room, begun, enter, end } = roomOf(4, 2);
    for (let nth = 0; nth < 20_000; nth++) enter('disk', `many ${nth}`, 'many');
    enter('disk', 'few 0', 'few');
    enter('disk', 'few 1', 'few');
    for (const name of ['many 0', 'many 1', 'many 2', 'few 0']) await end(name);
    expect(begun).toEqual(['many 0', 'many 1', 'many 2', 'few 0', 'many 3', 'few 1']);
    for (let at = 4; at < begun.length; at++) await end(begun[at] ?? '');
    expect([room.running, room.waiting, begun.length]).toEqual([0, 0, 20_002]);
  });

  test('limits that are raised are taken with the next that comes or goes', () => {
    let placesMax = 1;
    const room = new SideRoom(() => ({ placesMax, placesPerDestinationMax: 9 }));
    let begun = 0;
    const work = (): Promise<void> => {
      begun++;
      return new Promise(() => {});
    };
    for (let nth = 0; nth < 3; nth++) room.enter({ destination: 'disk', namespaceId: 'orders' }, work);
    expect(begun).toBe(1);
    placesMax = 9;
    room.enter({ destination: 'disk', namespaceId: 'orders' }, work);
    expect(begun).toBe(4);
  });
});
