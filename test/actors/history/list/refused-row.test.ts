/** A row of List that its database refuses becomes a dead letter; merged, the row of the run is written as it is by then. */
import { ownWork } from '../../../../src/actors/asks/asks.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { Router } from '../../../../src/actors/asks/router.ts';
import { type Database, DatabaseError } from '../../../../src/projections/database-port.ts';
import { HistoryShard } from '../../../../src/actors/history/history-shard.ts';
import { ProcessVisibility } from '../../../../src/projections/list/process-visibility.ts';
import { systemClock, systemRandom } from '../../../../src/ports/system-ports.ts';
import { systemSearchAttributes } from '../../../../src/cluster/search-attributes.ts';
import type { HistoryRequest } from '../../../../src/history/commands/history-commands.ts';
import { defaultHistoryLimits } from '../../../../src/history/run/history-limits.ts';
import type { Letter } from '../../../../src/deadletters/letter.ts';
import { silentLogger } from '../../../../src/observability/logger.ts';
import { historyCodec } from '../../../../src/codec/history-codec.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { encodeLetterTask } from '../../../../src/codec/letter-task-codec.ts';
import { decodeTaskInfo } from '../../../../src/codec/task-info-codec.ts';
import { uuid } from '../../../contract/database/samples.ts';
import { namespace } from '../../../grpc/stub-ports.ts';
import { signalAttributes, startAttributes, terminateWorkflow } from '../../../history/shard-under-test.ts';
import { turns } from '../../../support/event-loop.ts';
import { HandClock } from '../../../support/hand-clock.ts';
import { MemoryDatabase, MemoryTables } from '../../../support/memory-database.ts';
import { FAR_AWAY_MS } from '../../far-away.ts';
import { jsonClaims } from '../../ledger.ts';
import { MemoryLog } from '../../memory-log.ts';
import { LetterQueues } from '../letter-queues.ts';

const namespaceId = uuid();
const said = 'refuses a row: it holds what no row can hold';

/** One life of a server with one shard, whose rows of List are in its memory. */
class Process {
  readonly clock = new HandClock();
  readonly router = new Router(this.clock);
  readonly queues = new LetterQueues(this.router, 3, () => this.clock.wallMs());
  readonly tables = new MemoryTables();
  readonly shard: HistoryShard;
  /** Rows of these are refused, whatever they hold. */
  readonly refuses: Set<string>;
  refusals = 0;

  constructor(log: MemoryLog, refuses: Set<string> = new Set()) {
    this.refuses = refuses;
    const matching = this.router.matching.sink(0);
    this.router.matching.attach(0, {
      submit: (askId) => {
        systemClock.soon(() => matching.answer(askId, { kind: 'done' }));
        return undefined;
      },
      cancel: () => {},
    });
    const database = this.#database();
    this.shard = new HistoryShard({
      shard: 1,
      topic: 'test.history',
      owner: 'test',
      log,
      codec: historyCodec,
      claims: jsonClaims,
      wire: historyWire,
      limits: defaultHistoryLimits,
      registry: {
        isFolded: true,
        view: { position: 0, registeredNameOf: () => undefined, namespaceById: () => namespace('ns'), systemSearchAttributes },
      },
      cacheBytesMax: 1024 * 1024,
      layout: { historyShards: 1, matchingPartitions: 1, taskQueuePartitions: 1 },
      router: this.router,
      sink: this.router.history.sink(1),
      clock: this.clock,
      random: systemRandom,
      logger: silentLogger,
      onStatus: () => {},
      capture: this.queues.capture,
      isArchiving: false,
      sideRunners: {},
      visibility: new ProcessVisibility({ database, clock: this.clock, logger: silentLogger }),
    });
    this.router.history.attach(1, this.shard);
  }

  #database(): Database {
    const database = new MemoryDatabase(this.tables);
    const flush = database.flush.bind(database);
    database.flush = async (journal, fence, rows, retired) => {
      if (!rows.some(({ workflowId }) => this.refuses.has(workflowId))) return await flush(journal, fence, rows, retired);
      this.refusals += 1;
      throw new DatabaseError('data', said);
    };
    return database;
  }

  async serve(): Promise<this> {
    this.shard.actor.start();
    await this.pass(2_000);
    expect(this.shard.actor.status().state).toBe('active');
    return this;
  }

  /** Time enough for a flush, and for what follows. */
  async pass(ms = 3_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      this.clock.advance(50);
      await turns(3);
    }
  }

  async ask(request: HistoryRequest): Promise<{ readonly kind: string }> {
    let answer: { readonly kind: string } | undefined;
    this.router.askHistory(1, request, ownWork(FAR_AWAY_MS), (given) => (answer = given));
    await this.pass();
    return answer ?? { kind: 'none' };
  }

  async start(workflowId: string): Promise<void> {
    const started = await this.ask({
      kind: 'startWorkflow',
      key: { namespaceId, workflowId, runId: '' },
      namespace: 'ns',
      newRunId: uuid(),
      requestId: workflowId,
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
      start: startAttributes({}),
    });
    expect(started.kind).toBe('started');
  }

  /** As the queue's owner does it. */
  async merge(letter: Letter, generation = 0): Promise<object> {
    const task = decodeTaskInfo(letter.task);
    const name = { queue: 3, messageId: 0, generation };
    return await this.ask({ kind: 'executeLetter', key: task.key, letter: name, resolvedBelow: 0, task: encodeLetterTask(task) });
  }

  get letters(): readonly Letter[] {
    return [...this.queues.letters.visibility.values()];
  }

  /** Workflows that List shows, with their status. */
  get listed(): readonly string[] {
    return [...this.tables.visibility.values()].map(({ workflowId, status }) => `${workflowId} ${status}`).toSorted();
  }
}

describe('a row that is refused', () => {
  const processes: Process[] = [];
  afterEach(async () => {
    for (const { shard, router } of processes.splice(0)) {
      await shard.actor.drain();
      router.close();
    }
  });
  const processOf = async (log: MemoryLog, refuses: Set<string>): Promise<Process> => {
    const process = await new Process(log, refuses).serve();
    processes.push(process);
    return process;
  };
  const onlyLetter = ({ letters }: Process): Letter => letters[0] ?? expect.unreachable('no row was refused');

  test('is one dead letter, which says why; others are listed', async () => {
    const process = await processOf(new MemoryLog(), new Set(['bad']));
    await process.start('bad');
    await process.start('good');
    expect(process.listed).toEqual(['good 1']);
    expect(process.letters).toHaveLength(1);
    expect(onlyLetter(process)).toMatchObject({
      task: { taskType: 'TASK_TYPE_VISIBILITY_UPSERT_EXECUTION', workflowId: 'bad', namespace: 'ns' },
      failure: { cause: 'permanent-error', errorMessage: said, handler: 'VisibilityQueueProcessor' },
    });
    const key = { namespaceId, workflowId: 'bad', runId: '' };
    await process.ask({ kind: 'signalWorkflow', key, signal: signalAttributes({}), childOf: undefined });
    await process.ask({ ...terminateWorkflow(), key });
    expect(process.letters).toHaveLength(1);
  });

  test('is written as it is by then when its dead letter is merged', async () => {
    const refuses = new Set(['bad']);
    const process = await processOf(new MemoryLog(), refuses);
    await process.start('bad');
    const failed = { kind: 'letterExecuted', outcome: { kind: 'failed', failure: { errorMessage: said } } };
    expect(await process.merge(onlyLetter(process))).toMatchObject(failed);
    await process.ask({ ...terminateWorkflow(), key: { namespaceId, workflowId: 'bad', runId: '' } });
    refuses.clear();
    const refusals = process.refusals;
    expect(await process.merge(onlyLetter(process), 1)).toEqual({ kind: 'letterExecuted', outcome: { kind: 'applied' } });
    expect(process.refusals).toBe(refusals);
    expect(process.listed).toEqual(['bad 5']);
    expect(process.letters).toHaveLength(1);
  });

  test('is a dead letter though its server is killed on the way, and whoever merges it is answered by the next', async () => {
    const log = new MemoryLog();
    const refuses = new Set(['bad']);
    const killed = new Process(log, refuses);
    killed.queues.isOpen = false;
    await killed.serve();
    await killed.start('bad');
    expect(killed.letters).toEqual([]);
    killed.router.close();
    const next = await processOf(log, refuses);
    await next.pass();
    // The one that was on its way; and List, which was lost with its memory, was refused the row once more.
    expect(next.letters.map(({ handOver }) => handOver.sequence)).toEqual([1, 2]);
    refuses.clear();
    expect(await next.merge(onlyLetter(next))).toEqual({ kind: 'letterExecuted', outcome: { kind: 'applied' } });
    expect(next.listed).toEqual(['bad 1']);
  });
});
