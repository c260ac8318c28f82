import type { AuditEntry } from './audit-entry.ts';

/** Makes entries out of the records of one journal, in their order. */
export interface AuditStory<Record> {
  tell(record: Record, offset: number): void;
  /** Of what was told so far; the rest of a command whose records are not all there comes later. */
  take(): readonly AuditEntry[];
}
