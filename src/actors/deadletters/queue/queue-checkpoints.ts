/**
 * A queue of dead letters as rows of its database: the index by which letters are listed, counted and chosen, and from which a memory is made again.
 *
 *     letter, tombstone ─ committed ─▶ rows since the last cut ─ the cut's last record is committed ─▶ rows of the cut ─▶ one delta
 *     QueueState ─ cut ─▶ snapshot: what became of each id, what was handed over ───────────────────────────────────▶ counters
 *
 * A row tells the offset of its letter, so it is made when that is known. Rows leave memory with the checkpoint that has them.
 */
import { assert } from '../../../kernel/assert.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { QueueSnapshot, QueueStateWire } from '../../../deadletters/queue-state.ts';
import { letterRow, type DeadLetterRecord, type LetterRow } from '../../../deadletters/letter-records.ts';
import type { CapturedState, CheckpointedState } from '../../../projections/checkpoints/checkpointer.ts';
import { checkPosition, installingCounters } from '../../../projections/checkpoints/damaged-journal.ts';
import type { CheckpointOptions } from '../../../projections/checkpoints/partition-checkpoints.ts';
import type { JournalId, Restored } from '../../../projections/database-port.ts';

/** Its journal is never trimmed behind a checkpoint: the letters themselves are there alone. */
export type QueueCheckpointOptions = Omit<CheckpointOptions, 'journalRetentionMs' | 'journalRetentionBytes'> & {
  readonly stateWire: QueueStateWire;
};

const ROW_BYTES = 512;
const GONE_BYTES = 64;

export function recordBytes(record: DeadLetterRecord): number {
  if (record.kind !== 'letter') return GONE_BYTES;
  const { task, failure } = record.letter;
  return ROW_BYTES + task.workflowId.length + failure.errorMessage.length;
}

export type QueueCheckpointsOptions = {
  readonly core: Pick<QueueCore, 'state'>;
  readonly stateWire: QueueStateWire;
  readonly sourceCluster: string;
};

type Changes = { readonly rows: Map<number, LetterRow | undefined>; bytes: number };

type Cut = { readonly snapshot: QueueSnapshot; readonly timeMs: number; changes: Changes | undefined; counters: Uint8Array | undefined };

export class QueueCheckpoints implements CheckpointedState {
  readonly #options: QueueCheckpointsOptions;
  /** What has changed since the last cut. */
  #changes = noChanges();
  #cut: Cut | undefined;

  constructor(options: QueueCheckpointsOptions) {
    this.#options = options;
  }

  get unwrittenBytes(): number {
    return this.#changes.bytes + (this.#cut?.changes?.bytes ?? 0);
  }

  collect(record: DeadLetterRecord, offset: number): void {
    switch (record.kind) {
      case 'letter':
      case 'damaged':
        this.#changes.rows.set(record.messageId, letterRow(record, { sourceCluster: this.#options.sourceCluster, offset }));
        break;
      case 'resolved':
        this.#changes.rows.set(record.messageId, undefined);
        break;
      case 'head':
      case 'handedOver':
        return;
    }
    this.#changes.bytes += recordBytes(record);
  }

  /** The row of a committed letter that may not be in the database yet; undefined: it is written, or there is none. */
  pending(messageId: number): LetterRow | undefined {
    return this.#changes.rows.get(messageId) ?? this.#cut?.changes?.rows.get(messageId);
  }

  cut(): void {
    const { state } = this.#options.core;
    this.#cut = { snapshot: state.snapshot(), timeMs: state.lastTimeMs, changes: undefined, counters: undefined };
  }

  cutCommitted(): void {
    assert(this.#cut !== undefined, 'what is committed was cut');
    this.#cut.changes = this.#changes;
    this.#changes = noChanges();
  }

  capture(): boolean {
    assert(this.#cut !== undefined, 'what is captured was cut');
    this.#cut.counters ??= this.#options.stateWire.encodeCounters(this.#cut.snapshot);
    return true;
  }

  captured(): CapturedState {
    const { counters, changes, timeMs } = this.#cut ?? {};
    assert(counters !== undefined && changes !== undefined && timeMs !== undefined, 'a checkpoint is captured before it is written');
    const letters: LetterRow[] = [];
    const goneLetters: number[] = [];
    for (const [messageId, row] of changes.rows) {
      if (row === undefined) goneLetters.push(messageId);
      else letters.push(row);
    }
    return { kind: 'deadLetters', delta: { letters, goneLetters }, counters, timeMs };
  }

  durable(): void {
    this.#cut = undefined;
  }

  abandon(): void {
    this.#cut = undefined;
    this.#changes = noChanges();
  }
}

function noChanges(): Changes {
  return { rows: new Map(), bytes: 0 };
}

/** Into an empty core. Rejects with DatabaseError. */
export async function installQueue(
  core: Pick<QueueCore, 'install'>,
  wire: QueueStateWire,
  journal: JournalId,
  { position }: Restored,
): Promise<void> {
  if (position === undefined) return;
  checkPosition(journal, position);
  await installingCounters(journal, () => core.install(wire.decodeCounters(position.counters), position.timeMs));
}
