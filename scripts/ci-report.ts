/**
 * What `.ci/run` concludes from the reports in its folder: NAME.json by vitest, NAME.log and NAME.exit (an exit code) for each part.
 *
 *   ci-report again FOLDER   the red files that may run once more, alone, as lines "PROJECT FILE"; their reports go to FOLDER/again
 *   ci-report end FOLDER     what failed, what was flaky, and the counts as the last line; exits with 1 if anything failed
 *
 * On a machine that does other work a broker, a worker or a browser can be later than a scenario waits, and one such scenario of thousands would hide
 * what the other thousands say. A few red files run again, therefore, when nothing runs beside them. What is green then is printed as FLAKY, and is an
 * open bug of the test or of the product. A suite that looks for what happens by chance (kill -9, simulation, fuzz, a property) is never asked twice: a
 * loss that does not happen again is a loss all the same.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

const FILES_AGAIN_MAX = 3;
const MESSAGE_CHARS_MAX = 500;
const byChance = { projects: new Set(['simulation', 'fuzz']), files: /\.crash\.test\.ts$/, messages: /Property failed/ };

type Report = {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly FileResult[];
};
type FileResult = {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly TestResult[];
};
type TestResult = { readonly status: string; readonly fullName: string; readonly failureMessages: readonly string[] };
type Part = { readonly name: string; readonly report: Report; readonly exitCode: number; readonly hasStrayError: boolean };
type Red = { readonly project: string; readonly file: string; readonly failures: readonly string[] };

const [what, folder = '.cache/ci'] = process.argv.slice(2);
const parts = partsIn(folder);
const reds = parts.flatMap(redsOf);
if (what === 'again') for (const { project, file } of mayRunAgain()) console.log(`${project} ${file}`);
else end();

function end(): void {
  const mended = new Set(greenAgain());
  const failed = [...reds.filter((red) => !mended.has(red.file)).flatMap(({ failures }) => failures), ...parts.flatMap(failuresOutside)];
  const sum = (count: (report: Report) => number): number => parts.reduce((all, { report }) => all + count(report), 0);
  const flaky = reds.filter(({ file }) => mended.has(file)).flatMap(({ failures }) => failures);
  const passed = sum(({ numPassedTests }) => numPassedTests) + flaky.length;
  if (passed === 0) failed.push('no test has passed: the run itself is broken');
  for (const each of flaky) console.log(`FLAKY ${each}`);
  for (const each of failed) console.log(`FAILED ${each}`);
  const skipped = sum(({ numPendingTests, numTodoTests }) => numPendingTests + numTodoTests);
  const counts = [`${passed} passed`, `${failed.length} failed`];
  if (flaky.length > 0) counts.push(`${flaky.length} flaky (red, then green alone)`);
  if (skipped > 0) counts.push(`${skipped} skipped`);
  console.log(counts.join(', '));
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** None, if one of them is to stay red: the run is lost anyway. */
function mayRunAgain(): readonly Red[] {
  const asked = reds.filter(
    ({ project, file, failures }) =>
      !byChance.projects.has(project) && !byChance.files.test(file) && !failures.some((failure) => byChance.messages.test(failure)),
  );
  return asked.length === reds.length && reds.length <= FILES_AGAIN_MAX && parts.every((part) => failuresOutside(part).length === 0)
    ? asked
    : [];
}

function greenAgain(): readonly string[] {
  const again = partsIn(join(folder, 'again')).filter(({ exitCode }) => exitCode === 0);
  return again.flatMap(({ report }) => report.testResults.map(({ name }) => relative('.', name)));
}

function partsIn(from: string): readonly Part[] {
  if (!existsSync(from)) return [];
  const names = readdirSync(from).filter((file) => file.endsWith('.exit'));
  return names.map((file) => partOf(from, basename(file, '.exit')));
}

function partOf(from: string, name: string): Part {
  const read = (end: string): string => (existsSync(join(from, name + end)) ? readFileSync(join(from, name + end), 'utf8') : '');
  const none: Report = { numPassedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  const json = read('.json');
  return {
    name,
    report: json === '' ? none : (JSON.parse(json) as Report),
    exitCode: Number(read('.exit')),
    hasStrayError: json === '' || read('.log').includes('Unhandled Error'),
  };
}

/** Errors outside of any test count too: the exit code has the last word. */
function failuresOutside(part: Part): readonly string[] {
  if (part.exitCode === 0 || (redsOf(part).length > 0 && !part.hasStrayError)) return [];
  return [`${part.name}: an error outside of any test, or no report (exit code ${part.exitCode}); see ${part.name}.log`];
}

function redsOf({ name, report }: Part): readonly Red[] {
  const project = name.replace(/-\d+$/, '');
  return report.testResults
    .filter(({ status }) => status === 'failed')
    .map((result) => ({ project, file: relative('.', result.name), failures: failuresIn(result) }));
}

function failuresIn({ name, message, assertionResults }: FileResult): readonly string[] {
  const file = relative('.', name);
  const short = (text: unknown): string => String(text).slice(0, MESSAGE_CHARS_MAX);
  const failures = assertionResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => `${file} > ${fullName}: ${short(failureMessages[0])}`);
  // A file that could not even be loaded has no tests.
  return failures.length > 0 ? failures : [`${file}: ${short(message)}`];
}
