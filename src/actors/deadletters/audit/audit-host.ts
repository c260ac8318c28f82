/**
 * The audit: the actor around AuditCore, owner of the one partition of `<prefix>.audit`. What is in it is never changed, and never cut.
 *
 *     owners of queues, jobs ─ tellAudit ─▶ AuditCore ─▶ entries ─▶ committed
 *     people ─ readAudit ─▶ barrier ─▶ the log, backwards from its end
 */
import { asError, errorMessage } from '../../../kernel/error-text.ts';
import { AuditCore } from '../../../deadletters/audit/audit-core.ts';
import type { AuditEntry } from '../../../deadletters/audit/audit-entry.ts';
import { auditLimits, type AuditEffect, type AuditEntries, type AuditFilter } from '../../../deadletters/audit/audit-requests.ts';
import type { AuditRecord, AuditReply, AuditRequest, ReadAudit, ReadEntries } from '../../../deadletters/audit/audit-requests.ts';
import { addRising, hasId } from '../../../deadletters/bounds/id-ranges.ts';
import { internalError } from '../../asks/asks.ts';
import { LogError, type OffsetRange, type StoredRecord } from '../../../ports/log.ts';
import { type ActorOptions, PartitionActor } from '../../partition/partition-actor.ts';
import type { PartitionMemory } from '../../partition/partition-core.ts';

type Memory = PartitionMemory<AuditRequest, AuditReply, AuditRecord, AuditEffect>;
export type AuditHostOptions = ActorOptions<AuditReply, AuditRecord>;
/** The offsets of records that count, which are all but claims and what fenced owners or strangers wrote. Each owner adds about one range. */
type Counted = Parameters<typeof addRising>[0];

const COMMAND_BYTES = 256;
const ENTRY_BYTES = 1_024;
const ID_BYTES = 8;
const RANGE_BYTES = 32;
const STRETCH_RECORDS = 500;
const READ_BYTES = 1024 * 1024;
/** The size of one page, roughly. One entry always fits. */
const PAGE_BYTES = 2 * 1024 * 1024;

export class AuditHost {
  readonly actor: PartitionActor<AuditRequest, AuditReply, AuditRecord, AuditEffect, Memory>;
  readonly #options: AuditHostOptions;
  #lostBefore = 0;

  constructor(options: AuditHostOptions) {
    this.#options = options;
    this.actor = new PartitionActor(options, {
      partition: 0,
      logFields: {},
      create: () => this.#memory(),
      mayLack: 'anything',
      scale: { bytesOf: commandBytes, namespaceOf: () => '', finishesWork: ({ kind }) => kind === 'tellAudit' },
    });
  }

  #memory(): Memory {
    const { sink } = this.#options;
    const counted: Counted = [];
    return {
      core: new AuditCore(),
      shell: { answer: (askId, reply) => void sink.answer(askId, reply), act: (effect) => void this.#answer(effect, counted) },
      subscribers: [{ committed: (_record, { offset }) => addRising(counted, offset) }],
      recordsLost: (lost) => this.#recordsLost(lost),
    };
  }

  /** Where its journal may begin: its loss was told. Nobody cuts it. */
  get journalStartMax(): number {
    return this.actor.status().state === 'active' ? this.#lostBefore : Infinity;
  }

  #recordsLost(lost: readonly OffsetRange[]): void {
    const { logger, topic } = this.#options;
    this.#lostBefore = (lost[0]?.to ?? -1) + 1;
    logger.error(
      'entries of the audit of dead letters are gone: were records deleted, or is there a retention limit (retention.ms, retention.bytes)? The entries that ' +
        'are left can be read, and new ones are recorded',
      { topic, offsets: lost.map(({ from, to }) => `${from} to ${to}`).join(', ') },
    );
  }

  async #answer({ askId, request }: ReadEntries, counted: Counted): Promise<void> {
    const { sink, logger } = this.#options;
    try {
      sink.answer(askId, await this.#read(request, counted));
    } catch (error) {
      if (error instanceof LogError && error.recoverable) return sink.fail(askId, { kind: 'unavailable', message: error.message });
      logger.error('the audit could not be read', { error: asError(error) });
      sink.fail(askId, internalError(errorMessage(error)));
    }
  }

  async #read({ filter, before, max }: ReadAudit, counted: Counted): Promise<AuditEntries> {
    const { log, topic, codec } = this.#options;
    const { start, end } = await log.bounds({ topic, partition: 0 });
    const { entriesPerPageMax, recordsPerPageMax } = auditLimits;
    const entries: AuditEntry[] = [];
    const most = Math.min(max, entriesPerPageMax);
    const last = Math.min(before ?? end, end);
    let bytes = 0;
    for (let to = last; to > start;) {
      const from = Math.max(start, to - STRETCH_RECORDS);
      for (const stored of (await this.#stretch(from, to)).toReversed()) {
        const entry = hasId(counted, stored.offset) ? codec.decode(stored.value, stored.schema, stored).entry : undefined;
        if (entry !== undefined && fits(entry, filter)) {
          bytes += entryBytes(entry);
          if (entries.length > 0 && bytes > PAGE_BYTES) return { kind: 'auditEntries', entries, before: stored.offset + 1 };
          entries.push(entry);
        }
        if (entries.length === most) return { kind: 'auditEntries', entries, before: stored.offset > start ? stored.offset : undefined };
      }
      to = from;
      if (to > start && last - to >= recordsPerPageMax) return { kind: 'auditEntries', entries, before: to };
    }
    return { kind: 'auditEntries', entries, before: undefined };
  }

  async #stretch(from: number, to: number): Promise<readonly StoredRecord[]> {
    const { log, topic } = this.#options;
    const stretch: StoredRecord[] = [];
    for (let next = from; next < to;) {
      const records = await log.read({ topic, partition: 0 }, next, READ_BYTES);
      const last = records.at(-1);
      if (last === undefined) throw new LogError('unavailable', `the audit does not show record ${next} yet`);
      stretch.push(...records.filter(({ offset }) => offset < to));
      next = last.offset + 1;
    }
    return stretch;
  }
}

function fits(entry: AuditEntry, { queue, jobId, messageId }: AuditFilter): boolean {
  if (queue !== undefined && entry.queue !== queue) return false;
  if (jobId !== undefined && entry.jobId !== jobId) return false;
  return messageId === undefined || entry.messageIds.includes(messageId) || hasId(entry.messageIdRanges, messageId);
}

function entryBytes({ messageIds, messageIdRanges, filter, reason }: AuditEntry): number {
  return ENTRY_BYTES + ID_BYTES * messageIds.length + RANGE_BYTES * messageIdRanges.length + filter.length + reason.length;
}

function commandBytes(command: AuditRequest): number {
  if (command.kind !== 'tellAudit') return COMMAND_BYTES;
  return command.entries.reduce((bytes, entry) => bytes + entryBytes(entry), COMMAND_BYTES);
}
