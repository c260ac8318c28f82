/** What the records of letters hold: read from their topic at the offsets that their rows tell. */
import type { DeadLetterRecord, LetterRow } from '../../../deadletters/letter-records.ts';
import type { LetterContent } from '../../../deadletters/letter-commands.ts';
import { LogError, type Log, type PartitionId, type StoredRecord } from '../../../ports/log.ts';
import type { RecordCodec } from '../../partition/partition-core.ts';

export type LetterContentsOptions = {
  readonly log: Pick<Log, 'read'>;
  readonly partition: PartitionId;
  readonly codec: Pick<RecordCodec<DeadLetterRecord>, 'decode'>;
};

type Place = Pick<LetterRow, 'messageId' | 'offset'>;

/** The next letter stands so close that it is read along. */
const CLOSE_OFFSETS = 64;
const STRETCH_BYTES = 256 * 1024;

/** The problem of a letter whose record was deleted: only its row is left. */
export const recordGone = 'its record is gone';

export const goneContent: LetterContent = { value: new Uint8Array(0), headers: [], letter: undefined, problem: recordGone };

/** Tells records that are gone from records that were only written again at another place, during one request. */
export class GoneRecords {
  readonly #start: number;
  /** Offsets at which no record was found, by message id. */
  readonly #missed = new Map<number, number>();

  /** `start`: of the journal, as it was before the rows were read. 0: nothing is known to be gone. */
  constructor(start = 0) {
    this.#start = start;
  }

  /** Its row was read anew, and says what it has said before. */
  has({ messageId, offset }: Place): boolean {
    return offset < this.#start || this.#missed.get(messageId) === offset;
  }

  missed({ messageId, offset }: Place): void {
    this.#missed.set(messageId, offset);
  }
}

export class LetterContents {
  readonly #options: LetterContentsOptions;
  #stretch = new Map<number, StoredRecord>();

  constructor(options: LetterContentsOptions) {
    this.#options = options;
  }

  /** `next`: of whom it will be asked then. 'moved': another record stands there by now, or none. Rejects with LogError. */
  async of({ messageId, offset }: Place, next: Place | undefined): Promise<LetterContent | 'moved'> {
    const { codec } = this.#options;
    const stored = await this.#recordAt(offset, next);
    if (stored === undefined || stored.key !== String(messageId) || stored.isTombstone === true) return 'moved';
    const record = codec.decode(stored.value, stored.schema, stored);
    const letter = record.kind === 'letter' ? record.letter : undefined;
    const problem = record.kind === 'damaged' ? record.reason : '';
    return { value: stored.value, headers: headersOf(stored), letter, problem };
  }

  async #recordAt(offset: number, next: Place | undefined): Promise<StoredRecord | undefined> {
    if (!this.#stretch.has(offset)) {
      const isClose = next !== undefined && next.offset > offset && next.offset - offset <= CLOSE_OFFSETS;
      this.#stretch = new Map((await this.#read(offset, isClose ? STRETCH_BYTES : 1)).map((record) => [record.offset, record]));
    }
    return this.#stretch.get(offset);
  }

  async #read(offset: number, bytes: number): Promise<readonly StoredRecord[]> {
    const { log, partition } = this.#options;
    try {
      const records = await log.read(partition, offset, bytes);
      // A broker that has just begun to lead may not show yet what it holds.
      if (records.length === 0) throw new LogError('unavailable', `the journal does not show record ${offset} yet`);
      return records;
    } catch (error) {
      // It was written again at the end, and the log is trimmed beyond it.
      if (error instanceof LogError && error.code === 'out-of-range') return [];
      throw error;
    }
  }
}

/** The headers with the stamp, as every reader of the topic sees them. */
function headersOf({ schema, epoch, sequence, headers = [] }: StoredRecord): LetterContent['headers'] {
  const stamp = [
    ['perdure.schema', schema],
    ['perdure.epoch', epoch],
    ['perdure.sequence', sequence],
  ] as const;
  return [...stamp.map(([name, value]) => ({ name, value: String(value) })), ...headers.map(([name, value]) => ({ name, value }))];
}

export function contentBytes({ value, headers }: LetterContent): number {
  return headers.reduce((bytes, header) => bytes + header.name.length + header.value.length, value.byteLength);
}
