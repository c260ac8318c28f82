/**
 * Whatever a client sends, it stops nobody else: 20,000 hostile requests for every method that is built, against a server on a file, then
 * kill -9 and a start on the same file.
 *
 *   PERDURE_SEED=n     another campaign
 *   FUZZ_REQUEST=n     only request n of that seed: the same shape, with ids and tokens that exist
 *   FUZZ_REQUESTS=n    so many, from the first or from that one
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seed } from '../support/seed.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { Bystander, bystanderNamespace } from './bystander.ts';
import { Campaign, type CampaignReport, waiting } from './campaign.ts';
import { servedRpcs } from './descriptors.ts';
import { Service } from './service.ts';
import { fuzzedNamespace, otherFuzzedNamespace } from './world.ts';

const only = process.env['FUZZ_REQUEST'];
const first = only === undefined ? 0 : Number(only);
const count = Number(process.env['FUZZ_REQUESTS'] ?? (only === undefined ? 20_000 : 1));
/** Those of `server start-dev`. */
const shards = 4;
const namespaces = [fuzzedNamespace, otherFuzzedNamespace, bystanderNamespace].flatMap((name) => ['--namespace', name]);

test(`${count} hostile requests (seed ${seed}, from ${first}) stop nobody`, async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'journal.db'), namespaces, { asks: 'as bytes' });
    await server.start();
    try {
      const begun = performance.now();
      const report = await new Campaign({ address: server.address, seed, first, count, shards }).run();
      print(report, performance.now() - begun);
      expect(`${report.findings.join('\n')}${errorsOf(server)}`).toBe('');
      expect(await server.exitCode(0), 'it still runs').toBeUndefined();
      if (count >= 20_000) expectReach(report);

      await server.kill9();
      await server.start();
      const service = new Service(server.address);
      await new Bystander(service, shards, 'afterwards').round().finally(() => service.close());
      expect(errorsOf(server)).toBe('');
      // Nothing but that: no run is put aside, no partition unserved.
      expect(await (await fetch(`http://${server.address}/health`)).json()).toEqual({ status: 'SERVING' });
    } finally {
      await server.stop();
    }
  });
});

/** What it could not decide, workflows that it put aside, partitions that failed: each of them is a line at this level. */
function errorsOf(server: ServerProcess): string {
  return server.output
    .split('\n')
    .filter((line) => / ERROR /.test(line))
    .join('\n');
}

/** Archival is off, which is all that there is to say. */
const alwaysRefused: ReadonlySet<string> = new Set(['ListArchivedWorkflowExecutions']);

/** A campaign that never gets past the first checks proves nothing. What waits to its deadline was accepted. */
function expectReach({ codes }: CampaignReport): void {
  const neverAccepted = servedRpcs().filter(({ method }) => {
    const counts = codes.get(method);
    return (counts?.get('OK') ?? 0) + (waiting.has(method) ? (counts?.get('DEADLINE_EXCEEDED') ?? 0) : 0) === 0;
  });
  expect(new Set(neverAccepted.map(({ method }) => method))).toEqual(alwaysRefused);
}

function print({ codes, serverBusyMsMax, ownBusyMsMax }: CampaignReport, tookMs: number): void {
  const sums = new Map<string, number>();
  for (const [method, counts] of codes) {
    console.log(`${method}: ${[...counts].map(([code, times]) => `${times} ${code}`).join(', ')}`);
    for (const [code, times] of counts) sums.set(code, (sums.get(code) ?? 0) + times);
  }
  console.log(`busy with one thing at most: server ${serverBusyMsMax.toFixed(0)} ms, this process ${ownBusyMsMax.toFixed(0)} ms`);
  console.log(`seed ${seed}, ${(tookMs / 1000).toFixed(0)} s: ${[...sums].map(([code, times]) => `${times} ${code}`).join(', ')}`);
}
