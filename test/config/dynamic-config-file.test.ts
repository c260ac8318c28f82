/** A file of dynamic configuration that changes while the server serves. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { captureSettings } from '../../src/config/dead-letter-settings.ts';
import { DynamicConfig, noEntries } from '../../src/config/dynamic-config.ts';
import { DynamicConfigFile } from '../../src/config/dynamic-config-file.ts';
import { readDynamicConfig } from '../../src/config/dynamic-config-yaml.ts';
import { limitSettings } from '../../src/config/limit-settings.ts';
import { createLogger } from '../../src/observability/logger.ts';

let folder: string;
let filename: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-dynamic-'));
  filename = join(folder, 'dynamic.yaml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const attempts = (count: unknown): string => `history.TaskDLQUnexpectedErrorAttempts:\n  - value: ${String(count)}\n`;

function opened(text: string) {
  writeFileSync(filename, text);
  const { entries = noEntries } = readDynamicConfig(text);
  const config = new DynamicConfig(noEntries, entries);
  const logged: string[] = [];
  const logger = createLogger({ level: 'info', format: 'text', write: (line) => void logged.push(line), nowMs: () => 0 });
  const failing: boolean[] = [];
  const file = new DynamicConfigFile({
    file: { filename, pollIntervalMs: 60_000, text, entries },
    config,
    logger,
    onLooked: (isFailing) => void failing.push(isFailing),
  });
  return {
    failuresMax: () => config.values(captureSettings).failuresMax,
    config,
    logged,
    failing,
    look: (): Promise<void> => file.look(),
    /** Writes and looks. */
    change: (changed: string): Promise<void> => {
      writeFileSync(filename, changed);
      return file.look();
    },
  };
}

test('what changes holds at once, and is reported with what it was', async () => {
  const { failuresMax, change, logged, failing } = opened(attempts(20));
  expect(failuresMax()).toBe(20);
  await change(attempts(300));
  expect(failuresMax()).toBe(300);
  await change('');
  expect(failuresMax()).toBe(70);
  expect(logged).toEqual([
    expect.stringMatching(/INFO .*dynamic configuration has changed .*key=history.TaskDLQUnexpectedErrorAttempts old=20 new=300/),
    expect.stringMatching(/INFO .*dynamic configuration has changed .*old=300 new=default/),
  ]);
  expect(failing).toEqual([false, false]);
});

test('nothing is logged while nothing changes, not even when the file is written again', async () => {
  const { look, change, logged } = opened(attempts(20));
  await look();
  await look();
  await change(attempts(20));
  expect(logged).toEqual([]);
});

test('a broken file changes nothing, is reported once with its line, and is used once it is repaired', async () => {
  const { failuresMax, look, change, logged, failing } = opened(attempts(20));
  await change(`${attempts(3)}  - value: [\n`);
  await look();
  expect(failuresMax()).toBe(20);
  expect(logged).toEqual([expect.stringMatching(/ERROR .*cannot be used; its previous values stay in effect .*line 4: /)]);
  rmSync(filename);
  await look();
  await look();
  expect(logged.slice(1)).toEqual([expect.stringMatching(/ERROR .*cannot be used; its previous values stay in effect .*ENOENT/)]);
  expect(failuresMax()).toBe(20);
  await change(attempts(5));
  expect(failuresMax()).toBe(5);
  expect(failing).toEqual([true, true, true, true, false]);
  expect(logged.slice(2)).toEqual([expect.stringContaining('is used again'), expect.stringContaining('old=20 new=5')]);
});

test('what was there before a broken file is used again without having changed', async () => {
  const { failuresMax, change, logged, failing } = opened(attempts(20));
  await change('broken');
  await change(attempts(20));
  expect(failuresMax()).toBe(20);
  expect(failing).toEqual([true, false]);
  expect(logged).toHaveLength(2);
});

test('a value that the key does not take is reported once for each change of the file; the default holds', async () => {
  const { failuresMax, look, change, logged } = opened(attempts(20));
  await change(attempts(0));
  await look();
  expect(failuresMax()).toBe(70);
  expect(logged.filter((line) => line.includes(' WARN '))).toEqual([
    expect.stringContaining('this value is not used: expected a whole number'),
  ]);
});

test('a limit that changes holds from the next start on, and that is reported', async () => {
  const { change, logged, config } = opened('');
  await change('limit.maxIDLength:\n  - value: 100\n');
  expect(config.values(limitSettings).idBytesMax).toBe(100);
  expect(logged.filter((line) => line.includes(' WARN '))).toEqual([
    expect.stringMatching(/takes effect with the next start .*key=limit.maxIDLength value=100/),
  ]);
});

test('a file that is a link is read where it leads to now, as volumes of Kubernetes have them', async () => {
  const { failuresMax, look } = opened('');
  for (const [name, count] of [
    ['first', 11],
    ['second', 12],
  ] as const) {
    writeFileSync(join(folder, name), attempts(count));
    symlinkSync(join(folder, name), join(folder, 'link'));
    renameSync(join(folder, 'link'), filename);
    await look();
    expect(failuresMax()).toBe(count);
  }
});

test('what never ends, or is too large to be parsed while the server serves, is not read; what held before holds on', async () => {
  const { failuresMax, look, logged, failing } = opened(attempts(20));
  rmSync(filename);
  execFileSync('mkfifo', [filename]);
  await look();
  expect(logged.at(-1)).toMatch(/ERROR .*cannot be used; its previous values stay in effect .*error="it is no file"/);
  rmSync(filename);
  writeFileSync(filename, `${attempts(300)}# ${'x'.repeat(256 * 1024)}`);
  await look();
  expect(logged.at(-1)).toMatch(/ERROR .*error="it has \d+ bytes, and may have 262144"/);
  expect([failuresMax(), failing]).toEqual([20, [true, true]]);
  writeFileSync(filename, attempts(300));
  await look();
  expect([failuresMax(), failing.at(-1)]).toEqual([300, false]);
});
