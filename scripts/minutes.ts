/**
 * Which minute of the build went where: `npm run minutes` prints the parts of the last `.ci/run`, from the reports that vitest left in .cache/ci, and the test
 * files that took longest. With folders of reports it prints those, side by side: `npm run minutes -- BEFORE AFTER`. The figures are those of one machine on
 * one day, with whatever else it did.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILES_SHOWN = 25;
const repository = fileURLToPath(new URL('../', import.meta.url));

type Report = {
  readonly startTime: number;
  readonly testResults: readonly { readonly name: string; readonly startTime: number; readonly endTime: number }[];
};
/** From when to when, of parts and files by name. */
type Times = ReadonlyMap<string, readonly [fromMs: number, toMs: number]>;

const folders = process.argv.length > 2 ? process.argv.slice(2) : [join(repository, '.cache/ci')];
const runs = folders.map(timesIn);

print(
  'part',
  runs.map(({ parts }) => parts),
);
console.log(
  row(
    'from the first to the last',
    runs.map(({ parts }) => lengthOf(parts)),
  ),
);
console.log();
print(
  `the ${FILES_SHOWN} longest files`,
  runs.map(({ files }) => files),
  FILES_SHOWN,
);

function timesIn(folder: string): { readonly parts: Times; readonly files: Times } {
  const parts = new Map<string, readonly [number, number]>();
  const files = new Map<string, readonly [number, number]>();
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
    const { startTime, testResults } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report;
    parts.set(name.replace('.json', ''), [startTime, Math.max(startTime, ...testResults.map(({ endTime }) => endTime))]);
    for (const file of testResults)
      files.set(relative(repository, file.name).replace(/^.*?(?=test\/)/, ''), [file.startTime, file.endTime]);
  }
  return { parts, files };
}

/** As it was in the last run, the longest first. */
function print(title: string, columns: readonly Times[], max = Infinity): void {
  const seconds = ([fromMs, toMs]: readonly [number, number] = [0, 0]): number => (toMs - fromMs) / 1_000;
  const names = [...(columns.at(-1)?.keys() ?? [])].toSorted((a, b) => seconds(columns.at(-1)?.get(b)) - seconds(columns.at(-1)?.get(a)));
  const gone = columns.flatMap((times) => [...times.keys()]).filter((name) => columns.at(-1)?.has(name) === false);
  console.log(`${title.padEnd(70)}${columns.map(() => ' seconds'.padStart(9)).join('')}`);
  for (const name of [...names.slice(0, max), ...new Set(max === Infinity ? gone : [])]) {
    console.log(
      row(
        name,
        columns.map((times) => seconds(times.get(name))),
      ),
    );
  }
}

function row(name: string, seconds: readonly number[]): string {
  return `${name.padEnd(70)}${seconds.map((each) => each.toFixed(1).padStart(9)).join('')}`;
}

function lengthOf(parts: Times): number {
  const times = [...parts.values()];
  return (Math.max(...times.map(([, toMs]) => toMs)) - Math.min(...times.map(([fromMs]) => fromMs))) / 1_000;
}
