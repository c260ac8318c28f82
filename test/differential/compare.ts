export type Difference = { readonly path: string; readonly ours: unknown; readonly theirs: unknown };

/** Every place where two plain values differ; a missing field is `undefined`. */
export function differences(ours: unknown, theirs: unknown, path = ''): readonly Difference[] {
  if (Object.is(ours, theirs)) return [];
  if (isRecord(ours) && isRecord(theirs)) {
    const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    return [...names].flatMap((name) => differences(ours[name], theirs[name], path === '' ? name : `${path}.${name}`));
  }
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length)
    return ours.flatMap((item, index) => differences(item, theirs[index], `${path}[${index}]`));
  return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ path, ours, theirs }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
