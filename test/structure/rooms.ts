import type { Import } from './imports.ts';

/** An import from one room of a part into another: a room is a folder of the part, or a file beside them. */
export type Arrow = { readonly from: string; readonly to: string; readonly imports: readonly Import[] };

export function roomOf(part: string, file: string): string {
  const [first = '', ...rest] = file.slice(part.length).split('/');
  return rest.length > 0 ? `${first}/` : first;
}

export function arrowsBetweenRooms(part: string, imports: readonly Import[]): Arrow[] {
  const inner = imports.filter(({ file, target }) => file.startsWith(part) && target.startsWith(part));
  const ends = Map.groupBy(inner, ({ file, target }) => `${roomOf(part, file)} ${roomOf(part, target)}`);
  return [...ends]
    .map(([key, found]) => {
      const [from = '', to = ''] = key.split(' ');
      return { from, to, imports: found };
    })
    .filter(({ from, to }) => from !== to)
    .toSorted((a, b) => a.from.localeCompare(b.from) || a.to.localeCompare(b.to));
}

/** Rooms that import each other, directly or through others: each ring is a strongly connected component of more than one room. */
export function ringsOf(arrows: readonly Arrow[]): string[][] {
  const targets = Map.groupBy(arrows, ({ from }) => from);
  const reached = new Map(
    [...targets.keys()].map((start) => {
      const found = new Set<string>();
      const visit = (room: string): void => {
        for (const { to } of targets.get(room) ?? []) if (!found.has(to)) visit((found.add(to), to));
      };
      visit(start);
      return [start, found];
    }),
  );
  const rings = [...reached].flatMap(([room, below]) => {
    const ring = [...below].filter((other) => reached.get(other)?.has(room) === true).toSorted();
    return ring[0] === room ? [ring] : [];
  });
  return rings.toSorted((a, b) => b.length - a.length);
}

/**
 * Arrows from a lower floor to a higher one, or to another room of a floor whose rooms stand apart. A file that no floor names is of the highest;
 * a folder has to be named.
 */
export function wrongArrows(
  arrows: readonly Arrow[],
  floors: readonly { readonly rooms: readonly string[]; readonly apart?: true }[],
): Arrow[] {
  const floorOf = (room: string): number => {
    const named = floors.findIndex(({ rooms }) => rooms.includes(room));
    return named < 0 && room.endsWith('.ts') ? floors.length - 1 : named;
  };
  return arrows.filter(({ from, to }) => {
    const [low, high] = [floorOf(from), floorOf(to)];
    return low < 0 || high < 0 || low < high || (low === high && floors[low]?.apart === true);
  });
}
