/**
 * Programs of each family and what Temporal's server showed of them (`node test/differential/main.ts --start temporal --record 5`): whoever makes the
 * same calls here sees the same.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { HttpTarget } from '../outbound/http-target.ts';
import { memoryServer } from '../support/memory-server.ts';
import { Api } from './api.ts';
import { familyNames } from './families/families.ts';
import { findings } from './findings.ts';
import { Judge } from './known-differences.ts';
import { callbackAddresses, prepare, programAttributes } from './prepare.ts';
import { readRecorded, type Recorded, recordedServer, timeless } from './recorded-programs.ts';
import { newNonce, runProgram } from './run-program.ts';

const recorded = readRecorded();
/** Programs wait most of the time: for tasks, and until nothing moves any more. */
const atATime = 8;
/** A busy machine makes differences of its own, now and then; a server that differs does so each time. */
const attempts = 3;

describe(`what Temporal's server ${recordedServer} showed`, () => {
  test('is what this one shows, in programs of every family', async () => {
    const server = await memoryServer({
      historyShards: 4,
      dynamicConfig: new Map<string, unknown>([
        ['callback.allowedAddresses', callbackAddresses],
        ['frontend.MaxConcurrentBatchOperationPerNamespace', 1_000],
      ]),
    });
    onTestFinished(() => server.stop());
    const api = new Api(server.address);
    onTestFinished(() => api.close());
    const callbacks = await HttpTarget.open();
    onTestFinished(() => callbacks.close());
    await prepare(api, programAttributes);
    const judge = new Judge();
    const found: string[] = [];
    const waiting = [...recorded];
    const play = async ({ program, seen }: Recorded): Promise<readonly string[]> => {
      for (let attempt = 1; ; attempt++) {
        const nonce = newNonce();
        const mine = await runProgram(api, program, nonce, callbacks.url(`/${nonce}`));
        const differing = findings(judge, program, timeless(mine), timeless(seen));
        if (differing.length === 0 || attempt === attempts)
          return differing.map(({ line }) => `${program.family} ${program.seed}: ${line}`);
      }
    };
    const user = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) found.push(...(await play(next)));
    };
    await Promise.all(Array.from({ length: atATime }, user));
    expect(found).toEqual([]);
  }, 300_000);

  test('is recorded of every family', () => {
    const families = new Set(recorded.map(({ program }) => program.family));
    expect(familyNames.filter((name) => !families.has(name))).toEqual([]);
  });
});
