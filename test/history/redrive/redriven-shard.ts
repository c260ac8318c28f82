/** A shard whose tasks become dead letters, and are executed again. */
import type { LetterOutcome } from '../../../src/history/run/letter-marks.ts';
import type { LetterName } from '../../../src/history/commands/redrive-commands.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import { HistoryCore } from '../../../src/history/history-core.ts';
import { isTimer, type PendingTask, type Task } from '../../../src/history/run/tasks.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { stateCodec } from '../../../src/codec/state-codec.ts';
import { Checkpoints } from '../checkpointed-shard.ts';
import { taskFailure, taskSubject } from '../hand-over/task-failure.ts';
import { key, ShardUnderTest, startChild } from '../shard-under-test.ts';
import { encodeLetterTask } from '../../../src/codec/letter-task-codec.ts';

export const letter: LetterName = { queue: 1, messageId: 41, generation: 0 };

export class RedrivenShard extends ShardUnderTest {
  readonly checkpoints: Checkpoints = new Checkpoints(this);
  #lettersMade = 0;

  constructor() {
    super({}, stateCodec);
  }

  /** It leaves its queue, as a task does that has failed for good; what its letter holds. */
  madeLetter(taskId: number): PendingTask {
    this.expectDone({ kind: 'handOverTask', taskId, category: 'transfer', failure: taskFailure, subject: taskSubject });
    const task = this.records.at(-1)?.tasksHandedOver?.[0]?.task;
    if (task === undefined) throw new Error(`task ${taskId} was not handed over`);
    this.#lettersMade += 1;
    this.expectDone({ kind: 'noteLetters', category: 'transfer', sequence: this.#lettersMade, messageIds: [this.#lettersMade] });
    return task;
  }

  /** Undefined: the answer comes later. */
  execute(task: PendingTask, name: LetterName = letter, resolvedBelow = 0): HistoryReply | undefined {
    return this.ask({ kind: 'executeLetter', key: task.key, letter: name, resolvedBelow, task: encodeLetterTask(task) });
  }

  withdraw(task: PendingTask, name: LetterName = letter): HistoryReply | undefined {
    return this.ask({ kind: 'withdrawLetter', key: task.key, letter: name });
  }

  /** As whoever sends tasks tells of each: it is begun, and nobody has heard of it. */
  unsent(): void {
    this.core.unsentTasks.begun(this.begun.taskId);
  }

  confirm(name: LetterName = letter): void {
    this.expectDone({ kind: 'confirmLetter', letter: name });
  }

  /** Of those who waited, in the order in which they were answered. */
  outcomes(): readonly LetterOutcome[] {
    return this.effects.flatMap((effect) =>
      effect.kind === 'reply' && effect.reply.kind === 'letterExecuted' ? [effect.reply.outcome] : [],
    );
  }

  /** Nothing but its journal is left of it. */
  takeOver(): void {
    const core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
    for (const record of this.records) core.evolve(record);
    this.core = core;
  }

  get marks(): readonly string[] {
    const marks = this.checkpoints.folded.letterMarks?.entries() ?? [];
    return [...marks].map(([name, { outcome }]) => `${name} ${outcome?.kind ?? 'pending'}`);
  }

  markOf(name: LetterName): string | undefined {
    return this.checkpoints.folded.letterMarks?.get(name)?.outcome?.kind;
  }

  /** The parent of a child that could not be started: the task is a letter. */
  childThatFailed(workflowId = 'wf'): PendingTask {
    this.start({ key: { ...key, workflowId } });
    this.complete(this.pollWorkflowTask(), [startChild({ workflowId: `child of ${workflowId}` })]);
    return this.madeLetter(this.pendingTask('startChild').taskId);
  }

  /** The task of the last letter that was begun. */
  get begun(): Task {
    const task = this.records.findLast(({ lettersBegun }) => lettersBegun !== undefined)?.lettersBegun?.[0]?.task;
    if (task === undefined) throw new Error('no letter was begun');
    return task;
  }

  fails(taskId: number): void {
    this.expectDone({ kind: 'handOverTask', taskId, category: 'transfer', failure: taskFailure, subject: taskSubject });
  }

  carryBegun(): void {
    const { begun } = this;
    if (isTimer(begun)) throw new Error('a timer is for nobody else');
    this.carry(begun);
  }
}
