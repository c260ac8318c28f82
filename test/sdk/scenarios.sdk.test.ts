import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventTypesInScope } from './event-types.ts';
import { Suite } from './harness.ts';
import type { Scenario } from './harness.ts';
import { activityScenarios } from './scenarios/activities.ts';
import { activityCancellationScenarios } from './scenarios/activity-cancellation.ts';
import { activityCompletionScenarios } from './scenarios/activity-completion.ts';
import { activityOperationScenarios } from './scenarios/activity-operations.ts';
import { activityTimeoutScenarios } from './scenarios/activity-timeouts.ts';
import { attributeScenarios } from './scenarios/attributes.ts';
import { batchScenarios } from './scenarios/batches.ts';
import { chainScenarios } from './scenarios/chains.ts';
import { carriedScenarios } from './scenarios/carried.ts';
import { childScenarios } from './scenarios/children.ts';
import { closingScenarios } from './scenarios/closing.ts';
import { eagerStartScenarios } from './scenarios/eager-starts.ts';
import { externalScenarios } from './scenarios/externals.ts';
import { identityScenarios } from './scenarios/identity.ts';
import { priorityScenarios } from './scenarios/priorities.ts';
import { pauseScenarios } from './scenarios/pauses.ts';
import { queryScenarios } from './scenarios/queries.ts';
import { readingScenarios } from './scenarios/reading.ts';
import { carriedUpdateScenarios } from './scenarios/carried-updates.ts';
import { closingUpdateScenarios } from './scenarios/closing-updates.ts';
import { resetScenarios } from './scenarios/reset.ts';
import { schedulePolicyScenarios } from './scenarios/schedule-policies.ts';
import { scheduleScenarios } from './scenarios/schedules.ts';
import { signalScenarios } from './scenarios/signals.ts';
import { structureScenarios } from './scenarios/structure.ts';
import { talkingScenarios } from './scenarios/talking.ts';
import { timerScenarios } from './scenarios/timers.ts';
import { updateScenarios } from './scenarios/updates.ts';
import { withStartScenarios } from './scenarios/with-start.ts';
import { workerLifeScenarios } from './scenarios/worker-lives.ts';
import { workerScenarios } from './scenarios/workers.ts';
import { workflowOptionScenarios } from './scenarios/workflow-options.ts';
import { workflowTaskScenarios } from './scenarios/workflow-tasks.ts';
import { namesIn } from './names-in.ts';
import { serversUnderTest } from './servers.ts';
import { skipAloud } from './skip-aloud.ts';
import type { RunningServer, ServerUnderTest } from './servers.ts';

const scenarios: readonly Scenario[] = [
  ...activityScenarios,
  ...activityTimeoutScenarios,
  ...activityCancellationScenarios,
  ...activityCompletionScenarios,
  ...activityOperationScenarios,
  ...timerScenarios,
  ...signalScenarios,
  ...queryScenarios,
  ...updateScenarios,
  ...talkingScenarios,
  ...closingScenarios,
  ...chainScenarios,
  ...identityScenarios,
  ...withStartScenarios,
  ...attributeScenarios,
  ...carriedScenarios,
  ...childScenarios,
  ...externalScenarios,
  ...structureScenarios,
  ...workflowTaskScenarios,
  ...eagerStartScenarios,
  ...workerLifeScenarios,
  ...priorityScenarios,
  ...readingScenarios,
  ...resetScenarios,
  ...carriedUpdateScenarios,
  ...closingUpdateScenarios,
  ...scheduleScenarios,
  ...batchScenarios,
  ...workerScenarios,
  ...schedulePolicyScenarios,
  ...pauseScenarios,
  ...workflowOptionScenarios,
];

test('each scenario of the sources is run, and has a name of its own', () => {
  const names = scenarios.map(({ name }) => name);
  expect(names.toSorted()).toEqual(namesIn('scenarios', /^ {4}name: '(.+)',$/gm));
  expect(new Set(names).size).toBe(names.length);
});

test('the documentation lists every scenario and every event type', () => {
  const page = readFileSync(new URL('../../docs/sdk-scenarios.md', import.meta.url), 'utf8');
  const names = scenarios.map(({ name }) => name);
  expect([...names, ...eventTypesInScope].filter((name) => !page.includes(name))).toEqual([]);
});

for (const server of serversUnderTest()) {
  if (server.missing === undefined) {
    describe(server.name, () => {
      runOn(server);
    });
  }
  if (server.missing !== undefined) skipAloud(`the SDK scenarios on ${server.name}`, server.missing);
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
        try {
          await scenario.run(stage);
          await stage.allClosed();
        } finally {
          stage.release();
        }
      });
    }
  });

  test('every history replays', { timeout: 300_000 }, async () => {
    expect(await suite.unreplayable()).toEqual([]);
  });

  // Runs when all the others have: their histories together must show every type that the server can write.
  test('every event type in scope has been written', () => {
    expect(eventTypesInScope.filter((type) => !suite.seen.has(type))).toEqual([]);
  });
}
