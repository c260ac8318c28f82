/**
 * A dead letter queue: the actor around QueueCore, owner of the one partition of its topic.
 *
 *     router ─▶ PartitionActor ─▶ QueueCore ─▶ records ─▶ committed ─▶ QueueShell ─▶ answers
 *
 * It serves no workflow: what befalls it is told, and takes nothing else out of service.
 */
import type { DeadLetterCommand } from '../../deadletters/commands.ts';
import type { DeadLetterEffect } from '../../deadletters/effects.ts';
import type { DeadLetterQueue, Letter } from '../../deadletters/letter.ts';
import { QueueCore } from '../../deadletters/queue-core.ts';
import type { DeadLetterRecord } from '../../deadletters/records.ts';
import type { DeadLetterReply } from '../../deadletters/replies.ts';
import { unreachable } from '../../kernel/assert.ts';
import { PartitionActor, type ActorOptions } from '../partition/partition-actor.ts';
import type { PartitionMemory, PartitionShell } from '../partition/partition-core.ts';
import type { Tenure } from '../partition/tenure.ts';
import type { ReplySink } from '../asks/switchboard.ts';

type Memory = PartitionMemory<DeadLetterCommand, DeadLetterReply, DeadLetterRecord, DeadLetterEffect>;

export type QueueHostOptions = ActorOptions<DeadLetterReply, DeadLetterRecord> & { readonly queue: DeadLetterQueue };

export class QueueHost {
  readonly actor: PartitionActor<DeadLetterCommand, DeadLetterReply, DeadLetterRecord, DeadLetterEffect, Memory>;

  constructor(options: QueueHostOptions) {
    const { category, sourceCluster } = options.queue;
    this.actor = new PartitionActor<DeadLetterCommand, DeadLetterReply, DeadLetterRecord, DeadLetterEffect, Memory>(options, {
      partition: 0,
      logFields: { 'task-category': category, 'xdc-source-cluster': sourceCluster },
      create: (tenure) => ({ core: new QueueCore(), shell: new QueueShell(options.sink, tenure), subscribers: [] }),
      scale: { bytesOf: commandBytes, finishesWork: ({ kind }) => kind === 'finishMerge' },
    });
  }
}

const COMMAND_BYTES = 256;
const LETTER_BYTES = 4_096;

/** Of what waits in memory, roughly. */
function commandBytes(command: DeadLetterCommand): number {
  switch (command.kind) {
    case 'acceptLetters':
      return command.letters.reduce((bytes, letter) => bytes + letterBytes(letter), COMMAND_BYTES);
    case 'finishMerge':
      return command.outcome.kind === 'failed' ? letterBytes(command.outcome.letter) : COMMAND_BYTES;
    case 'claimLetters':
      return COMMAND_BYTES + 16 * command.ranges.length;
    case 'purgeLetters':
      return COMMAND_BYTES + 16 * command.letters.length;
    case 'releaseClaim':
    case 'mergeLetter':
    case 'countLetters':
      return COMMAND_BYTES;
    default:
      return unreachable(command);
  }
}

function letterBytes({ task }: Letter): number {
  return LETTER_BYTES + task.value.byteLength;
}

class QueueShell implements PartitionShell<DeadLetterCommand, DeadLetterReply, DeadLetterRecord, DeadLetterEffect> {
  readonly #sink: ReplySink<DeadLetterReply>;
  readonly #tenure: Pick<Tenure<DeadLetterCommand>, 'submit'>;

  constructor(sink: ReplySink<DeadLetterReply>, tenure: Pick<Tenure<DeadLetterCommand>, 'submit'>) {
    this.#sink = sink;
    this.#tenure = tenure;
  }

  activated(): void {}
  deactivated(): void {}
  accepted(): void {}

  /** A merge that is under way must come to an end. */
  undecided(_askId: number, command: DeadLetterCommand, reason: string): void {
    if (command.kind !== 'finishMerge' || command.outcome.kind === 'skipped') return;
    this.#tenure.submit({ kind: 'finishMerge', messageId: command.messageId, outcome: { kind: 'skipped', reason } });
  }

  answer(askId: number, reply: DeadLetterReply): void {
    this.#sink.answer(askId, reply);
  }

  act(effect: DeadLetterEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'executeLetter': {
        const { messageId } = effect;
        const outcome = { kind: 'skipped', reason: 'tasks of this category cannot be executed again yet' } as const;
        return void this.#tenure.submit({ kind: 'finishMerge', messageId, outcome });
      }
      default:
        return unreachable(effect);
    }
  }
}
