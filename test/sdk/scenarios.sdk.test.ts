import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Suite } from './harness.ts';
import { activityScenarios } from './scenarios/activities.ts';
import { serversUnderTest } from './servers.ts';
import type { RunningServer, ServerUnderTest } from './servers.ts';

const scenarios = [...activityScenarios];

test('there are at least 40 scenarios, each with a name of its own', () => {
  expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
});

for (const server of serversUnderTest()) {
  if (server.missing === undefined) describe(server.name, () => runOn(server));
  else skipAloud(server, server.missing);
}

function runOn(server: ServerUnderTest): void {
  let running: RunningServer | undefined;
  let suite: Suite;

  beforeAll(async () => {
    running = await server.start();
    suite = await Suite.open(running);
  });
  afterAll(async () => {
    await suite.close();
    await running?.stop();
  });

  describe.concurrent('scenarios', () => {
    for (const scenario of scenarios) {
      test(scenario.name, async () => {
        const stage = suite.stage(scenario);
        await scenario.run(stage);
        await stage.replayAll();
      });
    }
  });
}

function skipAloud(server: ServerUnderTest, reason: string): void {
  if (process.env['CI'] !== undefined) {
    test(server.name, () => expect.unreachable(`CI must run the SDK scenarios on ${server.name}: ${reason}`));
    return;
  }
  console.warn(`SKIPPED: the SDK scenarios on ${server.name}: ${reason}`);
  test.skip(server.name, () => {});
}
