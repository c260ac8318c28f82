/** Promises about tasks that fail for good: plain functions that throw, for the planted bugs as well. */
import type { AskContext } from '../../src/actors/asks/asks.ts';
import assert from 'node:assert/strict';
import { FailedTasks } from '../../src/actors/history/hand-over/failed-tasks.ts';
import { TaskHandOver } from '../../src/actors/history/hand-over/hand-over.ts';
import { OutstandingLetters } from '../../src/actors/deadletters/queue/outstanding-letters.ts';
import { Tenure } from '../../src/actors/partition/partition-core.ts';
import type { AcceptLetters, DeadLetterCommand } from '../../src/deadletters/letter-commands.ts';
import type { CaptureSettings } from '../../src/deadletters/capture-settings.ts';
import { QueueCore } from '../../src/deadletters/queue-core.ts';
import { saidError } from '../../src/deadletters/task-failure.ts';
import type { HandOverTask } from '../../src/history/commands/hand-over-commands.ts';
import { lineOf } from '../../src/history/run/hand-over-lines.ts';
import { redriveLimits } from '../../src/history/steps/redrive.ts';
import type { PendingTask } from '../../src/history/run/tasks.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { letterOf } from '../deadletters/letters.ts';
import { Checkpoints } from '../history/checkpointed-shard.ts';
import { taskFailure, taskSubject } from '../history/hand-over/task-failure.ts';
import { RedrivenShard } from '../history/redrive/redriven-shard.ts';
import { namespaceId, ShardUnderTest } from '../history/shard-under-test.ts';
import { turns } from '../support/event-loop.ts';
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
  assert.notEqual(shard.core.shard.transfers.get(taskId), undefined, 'somebody tries it after a pause');
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
  assert.equal(lineOf(shard.core.shard.handOvers, 'transfer').waiting.length, 1);
}

/** A hand-over that is told before its record is committed may be of a task that the next owner finds pending. */
export function nothingIsHandedOverAheadOfTheLog(): void {
  const shard = new Shard();
  const clock = new HandClock('when moved');
  const asked: AcceptLetters[] = [];
  const tenure = new Tenure<never>({ submit: () => undefined }, { nowMs: () => 0, fenced: () => {}, claimAnew: () => {} }, clock);
  tenure.begin();
  const handOver = new TaskHandOver({
    shard: 1,
    category: 'transfer',
    line: () => lineOf(shard.core.shard.handOvers, 'transfer'),
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
  assert.equal(handedOver.length, 0);
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

/** A letter of that workflow, whose task is pending once more. */
function executed(shard: RedrivenShard, workflowId = 'wf'): PendingTask {
  const task = shard.childThatFailed(workflowId);
  shard.execute(task);
  return task;
}

export function whatHasLeftItsShardIsNotWithdrawn(): void {
  const shard = new RedrivenShard();
  const task = executed(shard);
  assert.equal(shard.withdraw(task)?.kind, 'rejected', 'another shard may have its message');
  shard.carryBegun();
  assert.equal(shard.withdraw(task)?.kind, 'letterExecuted');
}

export function lettersOfOneNamespaceLeaveRoomForOthers(): void {
  const shard = new RedrivenShard();
  shard.checks = false;
  const task = shard.childThatFailed();
  let taken = 0;
  for (; taken < redriveLimits.marksMax; taken++) {
    if (shard.execute(task, { queue: 1, messageId: taken, generation: 0 })?.kind === 'lettersUnconfirmed') break;
  }
  const elsewhere = { ...task, key: { ...task.key, namespaceId: 'another' } };
  const reply = shard.execute(elsewhere, { queue: 1, messageId: taken, generation: 0 });
  assert.notEqual(reply?.kind, 'lettersUnconfirmed', 'a letter of another namespace is executed');
}

export async function outcomesThatNobodyWaitsForAreWritten(): Promise<void> {
  const letter = { queue: 1, messageId: 0, generation: 0 };
  const clock = new HandClock('when moved');
  const tenure = new Tenure<never>({ submit: () => undefined }, { nowMs: () => 0, fenced: () => {}, claimAnew: () => {} }, clock);
  tenure.begin();
  const settled: number[] = [];
  const core = new QueueCore();
  core.evolve({ kind: 'letter', timeMs: 1, messageId: 0, letter: letterOf(1, 1) });
  const askHistory = (_shard: number, _request: unknown, _context: AskContext, onAnswer: (answer: never) => void): number => {
    onAnswer({ kind: 'letterMarks', pending: [], ended: [letter] } as never);
    return 1;
  };
  const outstanding = new OutstandingLetters({
    queue: () => 1,
    core,
    router: { askHistory },
    historyShards: 1,
    mayRestore: () => false,
    settle: (_shard, { messageId }) => Promise.resolve(void settled.push(messageId)),
    confirm: () => {},
    tenure,
    clock,
  });
  outstanding.activated();
  await turns(8);
  tenure.end();
  assert.deepEqual(settled, [0], 'what its shard has said is written');
}

/** Of which nobody knows what came of its merge. */
export function whatMayBeExecutedIsNotPurgedUnasked(): void {
  const core = new QueueCore();
  const letter = letterOf(1, 1);
  core.evolve({ kind: 'letter', timeMs: 1, messageId: 0, letter });
  const by = { jobId: 'job', who: 'anna', why: '' };
  const ask = (command: DeadLetterCommand): ReturnType<QueueCore['handle']> => {
    const handled = core.handle(command, 1, 7);
    core.accept(handled);
    return handled;
  };
  ask({ kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 0 }] });
  ask({ kind: 'mergeLetter', ...by, messageId: 0, overridesLoopGuard: false });
  const error = { errorType: 'OutcomeUnknown', errorMessage: '' };
  ask({ kind: 'finishMerge', messageId: 0, outcome: { kind: 'unsettled', letter, error, isUnknown: true } });
  const { kind, effects } = ask({ kind: 'purgeLetters', ...by, letters: [{ messageId: 0, generation: 0 }] });
  assert.equal(kind, 'wait', 'nothing is written before its shard has answered');
  assert.deepEqual(effects, [{ kind: 'withdrawLetter', messageId: 0, jobId: 'job' }]);
  assert(core.state.ids.isLetter(0));
}
