/** Promises about tasks that fail for good: plain functions that throw, for the planted bugs as well. */
import assert from 'node:assert/strict';
import { FailedTasks } from '../../src/actors/history/hand-over/failed-tasks.ts';
import { TaskHandOver } from '../../src/actors/history/hand-over/hand-over.ts';
import { Tenure } from '../../src/actors/partition/tenure.ts';
import type { AcceptLetters } from '../../src/deadletters/commands.ts';
import type { CaptureSettings } from '../../src/deadletters/capture-settings.ts';
import { saidError } from '../../src/deadletters/task-failure.ts';
import type { HandOverTask } from '../../src/history/hand-over/hand-over-commands.ts';
import { lineOf } from '../../src/history/hand-over/hand-over-lines.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { stateCodec } from '../../src/topics/codec/state-codec.ts';
import { letterOf } from '../deadletters/letters.ts';
import { Checkpoints } from '../history/checkpointed-shard.ts';
import { taskFailure, taskSubject } from '../history/hand-over/task-failure.ts';
import { namespaceId, ShardUnderTest } from '../history/shard-under-test.ts';
import { HandClock } from '../support/hand-clock.ts';

class Shard extends ShardUnderTest {
  readonly checkpoints = new Checkpoints(this);

  constructor() {
    super({}, stateCodec);
    this.checks = false;
  }

  /** Its first task for a worker. */
  workflow(workflowId: string): number {
    this.start({ key: { namespaceId, workflowId, runId: '' } });
    return this.transfers().at(-1)?.taskId ?? 0;
  }

  handOver(taskId: number): void {
    this.ask({ kind: 'handOverTask', taskId, category: 'transfer', failure: taskFailure, subject: taskSubject });
  }

  write(): void {
    this.checkpoints.cut();
    this.checkpoints.capture(Infinity);
    this.checkpoints.write('written');
  }
}

export function whatFailsStaysUntilItsNextAttempt(): void {
  const shard = new Shard();
  const { transferWindow: window } = shard.core;
  assert(window !== undefined);
  window.opens({ tasksMax: 2, tasksLeft: 2, pageRows: 2 });
  const taskId = shard.workflow('wf');
  assert(window.fails(taskId));
  shard.write();
  for (const _look of window.leave(() => shard.nowMs));
  assert.notEqual(shard.core.transferTask(taskId), undefined, 'somebody tries it after a pause');
}

export function whatFailsHoldsUpNoOther(): void {
  const shard = new Shard();
  const { transferWindow: window } = shard.core;
  assert(window !== undefined);
  window.opens({ tasksMax: 2, tasksLeft: 2, pageRows: 2 });
  for (let nth = 0; nth < 10; nth++) window.fails(shard.workflow(`failing-${nth}`));
  assert(window.keeps(shard.workflow('refused')), 'of those that wait for room it is the first');
}

export function whatIsHandedOverIsTriedNoMore(): void {
  const shard = new Shard();
  shard.handOver(shard.workflow('wf'));
  assert.deepEqual(shard.transfers(), []);
  assert.equal(lineOf(shard.core.handOvers, 'transfer').waiting.length, 1);
}

/** A hand-over that is told before its record is committed may be of a task that the next owner finds pending. */
export function nothingIsHandedOverAheadOfTheLog(): void {
  const shard = new Shard();
  const clock = new HandClock('when moved');
  const asked: AcceptLetters[] = [];
  const tenure = new Tenure<never>({ submit: () => undefined, nowMs: () => 0, fenced: () => {}, claimAnew: () => {} }, clock);
  tenure.begin();
  const handOver = new TaskHandOver({
    shard: 1,
    category: 'transfer',
    line: () => lineOf(shard.core.handOvers, 'transfer'),
    letterOf: ({ sequence }) => letterOf(1, sequence),
    ask: (command) => void asked.push(command),
    submit: () => undefined,
    tenure,
    reports: { marked: () => {}, refused: () => {}, enqueued: () => {} },
    monoMs: () => clock.monoMs(),
    logger: silentLogger,
  });
  handOver.activated();
  shard.handOver(shard.workflow('first'));
  const first = shard.records.at(-1);
  shard.handOver(shard.workflow('second'));
  assert(first !== undefined);
  handOver.committed(first, { epoch: 1, sequence: 1, offset: 1 }, false);
  const sequences = asked.flatMap(({ letters }) => letters.map((letter) => letter.handOver.sequence));
  assert.deepEqual(sequences, [1], 'the second is not committed');
}

export function whatMetNobodyIsNoFailure(): void {
  const shard = new Shard();
  const handedOver: HandOverTask[] = [];
  const failed = new FailedTasks({
    isLetter: () => false,
    shard: 1,
    settingsOf: () => onceOnly,
    subjectOf: () => taskSubject,
    submit: (command) => void handedOver.push(command),
    nowMs: () => 0,
    node: '',
    build: '',
  });
  shard.workflow('wf');
  const [task] = shard.transfers();
  assert(task !== undefined);
  for (let attempt = 1; attempt <= 1_000; attempt++) {
    failed.failed(task, { kind: 'notYet', why: 'away', error: saidError('Unavailable', 'the log does not answer') }, attempt);
  }
  assert.deepEqual(handedOver, []);
  failed.failed(task, { kind: 'failed', by: 'refusal', error: saidError('TooLarge', 'more than a record holds') }, 1_001);
  assert.equal(handedOver.length, 1);
}

const onceOnly: CaptureSettings = {
  enabled: true,
  internalErrorsArePermanent: false,
  // One that fits nothing: every failure is judged.
  errorPattern: { matches: () => false },
  failuresMax: 1,
  transferFailuresMax: undefined,
  timerFailuresMax: undefined,
  replicationFailuresMax: 1,
};
