/** As much of semantic versions as clients and servers tell each other: `1.17.2-rc.1`, `>=1.0.0 <2.0.0 || =3.1.0`. */
export type Version = { readonly major: number; readonly minor: number; readonly patch: number; readonly prerelease: string };

export function parseVersion(text: string): Version | undefined {
  const match = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (match === null) return undefined;
  return { major: Number(match[1]), minor: Number(match[2] ?? 0), patch: Number(match[3] ?? 0), prerelease: match[4] ?? '' };
}

export function satisfies(versionText: string, rangeText: string): boolean | undefined {
  const version = parseVersion(versionText);
  if (version === undefined || rangeText.length > rangeCharsMax) return undefined;
  let any = false;
  for (const alternative of rangeText.split('||')) {
    const comparators = alternative
      .trim()
      .replaceAll(/(<=|>=|!=|==|=|<|>)\s+/g, '$1')
      .split(/[\s,]+/);
    let all = true;
    for (const comparator of comparators) {
      const holds = compareTo(version, comparator);
      if (holds === undefined) return undefined;
      all &&= holds;
    }
    any ||= all;
  }
  return any;
}

const rangeCharsMax = 200;

function compareTo(version: Version, comparator: string): boolean | undefined {
  const match = /^(<=|>=|!=|==|=|<|>)?(.+)$/.exec(comparator);
  const bound = match === null ? undefined : parseVersion(match[2] as string);
  if (bound === undefined) return undefined;
  const order = compare(version, bound);
  switch (match?.[1]) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    case '!=':
      return order !== 0;
    default:
      return order === 0;
  }
}

function compare(a: Version, b: Version): number {
  const numbers = a.major - b.major || a.minor - b.minor || a.patch - b.patch;
  if (numbers !== 0 || a.prerelease === b.prerelease) return numbers;
  // A prerelease comes before its release; among themselves the text decides, which is enough here.
  if (a.prerelease === '') return 1;
  if (b.prerelease === '') return -1;
  return a.prerelease < b.prerelease ? -1 : 1;
}
