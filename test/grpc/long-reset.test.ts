/**
 * A workflow with 20,000 events and more than 12 MiB of them is reset like any other; where its server is killed in the middle of that, nothing has
 * happened, and it is reset when that is asked again. What is refused has written nothing, and a workflow that hears a lot is reset all the same.
 */
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { GrpcConnection } from '../bench/grpc-connection.ts';
import {
  anotherTask,
  completeCommand,
  completeTask,
  completionWithoutSticky,
  markerCommand,
  pollNormal,
  readRunId,
  resetRequest,
  signalRequest,
  startRequest,
  type WorkflowTask,
} from '../bench/messages.ts';
import { nextTask } from '../bench/next-task.ts';
import { rowsOf } from '../support/listed-workflows.ts';
import { memoryServer } from '../support/memory-server.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const queues = { namespace: 'default', normal: 'long', sticky: '' };
const workflowId = 'long';
/** With the three events of the task that they come with: a thousand. */
const markersPerTask = 997;
const killsMax = 5;

/** Each of them for one task. */
type History = { readonly tasks: number; readonly markerBytes: number };

/** The end of the last task. */
function finishOf({ tasks }: History): number {
  return 1 + tasks * (markersPerTask + 3) + 3;
}

class Caller {
  readonly address: string;
  readonly #client: GrpcConnection;

  private constructor(address: string, client: GrpcConnection) {
    this.address = address;
    this.#client = client;
  }

  static async connect(address: string): Promise<Caller> {
    return new Caller(address, await GrpcConnection.connect(address));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Answers the run. */
  async longWorkflow({ tasks, markerBytes }: History): Promise<string> {
    const runId = readRunId(await this.#client.call('StartWorkflowExecution', startRequest(queues, workflowId, 'Long')));
    const markers = Array.from({ length: markersPerTask }, () => markerCommand(markerBytes));
    for (let n = 0; n < tasks; n++) await this.complete(await this.task(), ...markers, anotherTask());
    await this.complete(await this.task());
    return runId;
  }

  task(): Promise<WorkflowTask> {
    return nextTask(this.#client, pollNormal(queues));
  }

  async complete({ token }: WorkflowTask, ...commands: readonly Uint8Array[]): Promise<void> {
    await this.#client.call('RespondWorkflowTaskCompleted', completeTask(token, completionWithoutSticky(queues, ...commands)));
  }

  async signal(): Promise<void> {
    await this.#client.call('SignalWorkflowExecution', signalRequest(queues, workflowId, randomUUID()));
  }

  /** Answers the run that goes on. */
  async reset(reset: { readonly runId: string; readonly finishEventId: number; readonly requestId: string }): Promise<string> {
    return readRunId(await this.#client.call('ResetWorkflowExecution', resetRequest(queues, { workflowId, ...reset })));
  }

  /** A worker ends it. */
  async finish(): Promise<void> {
    await this.complete(await this.task(), completeCommand());
  }

  async seen(): Promise<{
    readonly runId: string;
    readonly status: string;
    readonly events: number;
    readonly bytes: number;
    readonly rows: number;
  }> {
    return await withClient(this.address, async (client) => {
      const { runId, status, historyLength, historySize = 0 } = await client.workflow.getHandle(workflowId).describe();
      return { runId, status: status.name, events: historyLength, bytes: historySize, rows: (await rowsOf(client)).length };
    });
  }
}

test('in memory', async () => {
  const server = await memoryServer();
  const caller = await Caller.connect(server.address);
  const history = { tasks: 20, markerBytes: 650 };
  const finishEventId = finishOf(history);
  const base = await caller.longWorkflow(history);
  const before = await caller.seen();
  expect(before).toMatchObject({ runId: base, status: 'RUNNING', events: finishEventId });
  expect(before.bytes).toBeGreaterThan(12 * 1024 * 1024);
  const reset = { runId: base, finishEventId, requestId: 'one' };
  const runId = await caller.reset(reset);
  expect(await caller.reset(reset), 'asked again').toBe(runId);
  // The task that had failed, and the next one.
  expect(await caller.seen()).toMatchObject({ runId, status: 'RUNNING', events: finishEventId + 1, rows: 2 });
  await caller.finish();
  expect(await caller.seen()).toMatchObject({ runId, status: 'COMPLETED', events: finishEventId + 4, rows: 2 });
  await caller.close();
  await server.stop();
});

test('on a file, with kill -9 in the middle', { timeout: 120_000 }, async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'x.db'));
    await server.start();
    let caller = await Caller.connect(server.address);
    // Fewer, and as large: it is a third of the time.
    const history = { tasks: 4, markerBytes: 3_300 };
    const finishEventId = finishOf(history);
    try {
      const base = await caller.longWorkflow(history);
      expect((await caller.seen()).bytes).toBeGreaterThan(12 * 1024 * 1024);
      let runId = await caller.reset({ runId: base, finishEventId, requestId: 'whole' });
      let rows = 2;
      let isMiddle = false;
      for (let kill = 1; kill <= killsMax && !isMiddle; kill++) {
        const before = await recordsAt(server.address);
        const reset = caller.reset({ runId: base, finishEventId, requestId: `killed-${kill}` }).catch(() => undefined);
        // It writes its history in parts: a dozen records.
        while ((await recordsAt(server.address)) < before + 3) await delay(1);
        await server.kill9();
        await reset;
        await caller.close();
        await server.start();
        caller = await Caller.connect(server.address);
        const seen = await caller.seen();
        isMiddle = seen.runId === runId;
        if (isMiddle) expect(seen, 'nothing has happened').toMatchObject({ status: 'RUNNING', events: finishEventId + 1, rows });
        runId = await caller.reset({ runId: base, finishEventId, requestId: `killed-${kill}` });
        rows += 1;
        expect(await caller.seen()).toMatchObject({ runId, status: 'RUNNING', events: finishEventId + 1, rows });
      }
      expect(isMiddle, 'one of the kills was in the middle').toBe(true);
      await caller.finish();
      expect(await caller.seen()).toMatchObject({ runId, status: 'COMPLETED', events: finishEventId + 4, rows });
    } finally {
      await caller.close();
      await server.stop();
    }
  });
});

/** That the journals of its shards hold. */
async function recordsAt(address: string): Promise<number> {
  const page = (await (await fetch(`http://${address}/health/state`)).json()) as {
    readonly shards: readonly { readonly offset: number }[];
  };
  return page.shards.reduce((sum, { offset }) => sum + offset, 0);
}

/** Of the journal in this folder. */
async function journalBytes(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => !name.includes('-state'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

test('to an event that ends no task: it is refused before anything of its history is written', async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'x.db'));
    await server.start();
    const caller = await Caller.connect(server.address);
    try {
      const history = { tasks: 4, markerBytes: 3_300 };
      const runId = await caller.longWorkflow(history);
      const before = await journalBytes(folder);
      for (let nth = 0; nth < 5; nth++) {
        const refused = caller.reset({ runId, finishEventId: finishOf(history) - 100, requestId: `refused-${nth}` });
        await expect(refused).rejects.toThrow('Can only reset workflow to event ID in range');
      }
      // One part of a reset is a mebibyte.
      expect((await journalBytes(folder)) - before).toBeLessThan(1024 * 1024);
      expect(await caller.seen()).toMatchObject({ runId, status: 'RUNNING', rows: 1 });
    } finally {
      await caller.close();
      await server.stop();
    }
  });
});

test('beside signals that come in all the time', async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'x.db'));
    await server.start();
    const caller = await Caller.connect(server.address);
    try {
      let runId = await caller.longWorkflow({ tasks: 0, markerBytes: 0 });
      for (let sent = 0; sent < 1_000; sent += 50) await Promise.all(Array.from({ length: 50 }, () => caller.signal()));
      let resets = 0;
      let signals = 1_000;
      const lane = async (): Promise<void> => {
        for (; resets < 5; signals++) {
          await caller.signal();
          await delay(150);
        }
      };
      const lanes = Promise.all(Array.from({ length: 30 }, lane));
      const finishEventId = finishOf({ tasks: 0, markerBytes: 0 });
      for (; resets < 5; resets++) runId = await caller.reset({ runId, finishEventId, requestId: `beside-${resets}` });
      await lanes;
      const seen = await caller.seen();
      expect(seen).toMatchObject({ runId, status: 'RUNNING', rows: 6 });
      // Started, the task that had failed, and the next one that is scheduled.
      expect(seen.events - signals, 'none is lost').toBe(5);
    } finally {
      await caller.close();
      await server.stop();
    }
  });
});
