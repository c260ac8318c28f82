/** Acts on each, in their order, on `max` at the same time: the next one begins when any of them is done. */
export async function someAtATime<Item>(items: readonly Item[], max: number, act: (item: Item) => Promise<void>): Promise<void> {
  const rest = items.values();
  const acts = async (): Promise<void> => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, acts));
}
