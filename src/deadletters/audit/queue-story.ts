/**
 * What the records of a queue tell: letters that were made, failed again or came back, and what became of the others.
 *
 *     41 42 43 @head            three letters of a hand-over: dead-letter
 *     ✝41 ✝42 @head             purge, or merge-outcome
 *     43 @head, mergeFailed     merge-outcome `failed`, or quarantine
 *     43 @head, carried         nothing: written again as it was
 *
 * A head behind letters says why they were written. Neighbours that differ in nothing but their ids are one entry.
 */
import { unreachable } from '../../kernel/assert.ts';
import type { DamagedLetterRecord, DeadLetterRecord, HeadRecord, LetterRecord, ResolvedRecord } from '../letter-records.ts';
import { AUDIT_IDS_MAX, noDetails, type AuditEntry, type AuditStory } from './audit-entry.ts';

type Written = { readonly record: LetterRecord | DamagedLetterRecord; readonly offset: number };

export class QueueStory implements AuditStory<DeadLetterRecord> {
  readonly #queue: string;
  readonly #entries: AuditEntry[] = [];
  /** Letters whose head is still to come. */
  #letters: Written[] = [];

  constructor(queue: string) {
    this.#queue = queue;
  }

  tell(record: DeadLetterRecord, offset: number): void {
    switch (record.kind) {
      case 'letter':
      case 'damaged':
        return void this.#letters.push({ record, offset });
      case 'resolved':
        return this.#add(this.#resolved(record, offset));
      case 'head':
        return this.#head(record);
      case 'handedOver':
        return;
      default:
        return unreachable(record);
    }
  }

  take(): readonly AuditEntry[] {
    return this.#entries.splice(0);
  }

  #head({ nextId, act }: HeadRecord): void {
    const letters = this.#letters;
    this.#letters = [];
    if (act?.kind === 'carried') return;
    const firstNew = nextId - letters.length;
    for (const { record, offset } of letters) {
      if (act === undefined && record.messageId >= firstNew) this.#add(this.#made(record, offset));
      if (act !== undefined && record.kind === 'letter') this.#add(this.#changed(record, offset, act));
    }
  }

  #made(record: Written['record'], offset: number): AuditEntry {
    const { errorType, cause } = record.kind === 'letter' ? record.letter.failure : { errorType: '', cause: 'damaged' };
    return { ...this.#about(record, offset), action: 'dead-letter', subject: 'system:history', outcome: cause, errorType };
  }

  #changed(record: LetterRecord, offset: number, { kind, jobId, who, why }: Exclude<HeadRecord['act'], undefined | { kind: 'carried' }>) {
    const { generation, state, failure } = record.letter;
    const by = { subject: who, reason: why, jobId, generation };
    if (kind === 'restored') return { ...this.#about(record, offset), ...by, action: 'restore', outcome: state } as const;
    const action = state === 'quarantined' ? 'quarantine' : 'merge-outcome';
    return { ...this.#about(record, offset), ...by, action, outcome: 'failed', errorType: failure.errorType } as const;
  }

  #resolved(record: ResolvedRecord, offset: number): AuditEntry {
    const { how, who, why, jobId, generation, detail = '' } = record;
    const action = how === 'purged' ? 'purge' : 'merge-outcome';
    const outcome = detail === '' ? how : `${how}: ${detail}`;
    return { ...this.#about(record, offset), action, subject: who, reason: why, jobId, generation, outcome };
  }

  #about({ timeMs, messageId }: Written['record'] | ResolvedRecord, offset: number) {
    return { ...noDetails, timeMs, queue: this.#queue, source: this.#queue, offset, messageIds: [messageId], letters: 1 };
  }

  #add(entry: AuditEntry): void {
    const last = this.#entries.at(-1);
    const isOneMore = last !== undefined && last.letters < AUDIT_IDS_MAX && sameAct(last, entry);
    if (!isOneMore) return void this.#entries.push(entry);
    const messageIds = [...last.messageIds, ...entry.messageIds];
    this.#entries[this.#entries.length - 1] = { ...entry, messageIds, letters: messageIds.length };
  }
}

function sameAct(one: AuditEntry, other: AuditEntry): boolean {
  const names = ['action', 'subject', 'reason', 'jobId', 'outcome', 'errorType', 'generation'] as const;
  return names.every((name) => one[name] === other[name]);
}
