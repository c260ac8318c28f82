/**
 * Letters that were purged, as long as that can be undone: they stand in the journal until it is cut, and nowhere else.
 *
 *     journal   41  42  ✝41  43  ✝42 │ scanned so far          41: where its letter stands, when and by which job it was purged
 *
 * Nothing of this is kept while nobody asks. Whoever asks first has the journal scanned, whoever comes later what has come since; a while after the
 * last one it is forgotten.
 */
import { unreachable } from '../../../kernel/assert.ts';
import { asError, errorMessage } from '../../../kernel/error-text.ts';
import type { DeadLetterCommand, FindPurged, PutBack, RestoreLetters } from '../../../deadletters/commands.ts';
import type { ReadPurged } from '../../../deadletters/effects.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { DeadLetterRecord } from '../../../deadletters/records.ts';
import type { DeadLetterReply, PurgedFound } from '../../../deadletters/replies.ts';
import type { Logger } from '../../../observability/logger.ts';
import { internalError } from '../../asks/asks.ts';
import type { ReplySink } from '../../asks/switchboard.ts';
import { LogError } from '../../log.ts';
import { JournalReader, type JournalReaderOptions } from '../../partition/journal-reader.ts';
import type { Tenure } from '../../partition/tenure.ts';
import { LetterContents } from './letter-contents.ts';

export type QueueUndoOptions = JournalReaderOptions<DeadLetterRecord> & {
  readonly core: Pick<QueueCore, 'state'>;
  readonly sink: ReplySink<DeadLetterReply>;
  readonly tenure: Pick<Tenure<DeadLetterCommand>, 'active' | 'after' | 'submit' | 'nowMs'>;
  readonly logger: Logger;
  /** As of now. 0: no purge can be undone. */
  readonly undoWindowMs: () => number;
};

type Purged = { readonly offset: number; readonly timeMs: number; readonly jobId: string };

const FORGET_AFTER_MS = 60_000;
/** Of letters that are put back by one command; one always fits. */
const PUT_BACK_BYTES = 1024 * 1024;

export class QueueUndo {
  readonly #options: QueueUndoOptions;
  #journal: JournalReader<DeadLetterRecord> | undefined;
  /** Where each letter that is in the queue stands. */
  readonly #letters = new Map<number, number>();
  readonly #purged = new Map<number, Purged>();
  /** One behind the other. */
  #turn: Promise<void> = Promise.resolve();
  #asks = 0;

  constructor(options: QueueUndoOptions) {
    this.#options = options;
  }

  read({ askId, request }: ReadPurged): void {
    const { tenure } = this.#options;
    const ask = (this.#asks += 1);
    this.#turn = this.#turn.then(async () => await this.#answer(askId, request));
    tenure.after(FORGET_AFTER_MS, () => {
      if (this.#asks === ask) this.#turn = this.#turn.then(() => this.#forget());
    });
  }

  #forget(): void {
    this.#journal = undefined;
    this.#letters.clear();
    this.#purged.clear();
  }

  async #answer(askId: number, request: ReadPurged['request']): Promise<void> {
    const { sink, logger, tenure } = this.#options;
    try {
      await this.#scan();
      switch (request.kind) {
        case 'findPurged':
          return void sink.answer(askId, this.#found(request));
        case 'restoreLetters': {
          const failure = tenure.submit(await this.#toPutBack(askId, request));
          return failure === undefined ? undefined : sink.fail(askId, failure);
        }
        default:
          return unreachable(request);
      }
    } catch (error) {
      this.#forget();
      if (error instanceof LogError) return sink.fail(askId, { kind: 'unavailable', message: errorMessage(error) });
      logger.error('letters that were purged could not be read', { error: asError(error) });
      sink.fail(askId, internalError('letters that were purged could not be read'));
    }
  }

  async #scan(): Promise<void> {
    const { log, partition, tenure } = this.#options;
    this.#journal ??= await JournalReader.behind(this.#options, -1);
    const { end } = await log.bounds(partition);
    while (tenure.active && this.#journal.offset < end) await this.#journal.read(end, (record, offset) => this.#note(record, offset));
  }

  #note(record: DeadLetterRecord, offset: number): void {
    if (record.kind === 'letter' || record.kind === 'damaged') {
      this.#letters.set(record.messageId, offset);
      this.#purged.delete(record.messageId);
    }
    if (record.kind !== 'resolved') return;
    const { messageId, how, timeMs, jobId } = record;
    const stands = this.#letters.get(messageId);
    this.#letters.delete(messageId);
    if (how === 'purged' && stands !== undefined) this.#purged.set(messageId, { offset: stands, timeMs, jobId });
  }

  #found({ ids, purgedBy }: FindPurged): PurgedFound {
    const { core, tenure, undoWindowMs } = this.#options;
    const restorable: number[] = [];
    const lost: number[] = [];
    for (const { from, to } of ids) {
      for (let id = from; id <= Math.min(to, core.state.ids.nextId - 1); id++) {
        if (core.state.ids.statusOf(id) !== 'purged') continue;
        const purged = this.#purged.get(id);
        if (purged !== undefined && purgedBy !== undefined && purged.jobId !== purgedBy) continue;
        const isInTime = purged !== undefined && tenure.nowMs() - purged.timeMs < undoWindowMs();
        (isInTime ? restorable : lost).push(id);
      }
    }
    return { kind: 'purgedFound', ids: restorable, lost };
  }

  async #toPutBack(askId: number, { jobId, who, why, messageIds, purgedBy }: RestoreLetters): Promise<PutBack> {
    const { core, tenure, undoWindowMs } = this.#options;
    const contents = new LetterContents(this.#options);
    const letters: PutBack['letters'][number][] = [];
    const lost: number[] = [];
    let bytes = 0;
    for (const messageId of messageIds) {
      if (core.state.ids.statusOf(messageId) !== 'purged') continue;
      const purged = this.#purged.get(messageId);
      if (purgedBy !== undefined && purged?.jobId !== purgedBy) continue;
      const isInTime = purged !== undefined && tenure.nowMs() - purged.timeMs < undoWindowMs();
      const content = isInTime ? await contents.of({ messageId, offset: purged.offset }, undefined) : 'moved';
      if (content === 'moved' || content.letter === undefined) {
        lost.push(messageId);
        continue;
      }
      bytes += content.value.byteLength;
      if (letters.length > 0 && bytes > PUT_BACK_BYTES) break;
      letters.push({ messageId, letter: { ...content.letter, jobId } });
    }
    return { kind: 'putBack', askId, authorship: { jobId, who, why }, letters, lost };
  }
}
