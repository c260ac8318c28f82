/**
 * The pure core of the audit: which records of which journals were told of. Whoever tells begins again behind the last one after a crash; what was
 * told already is left out, so each act is one entry.
 *
 *     queue owner, jobs ─ tellAudit: entries behind 17 ─▶ [18, 21, 25] ─▶ records ─▶ committed ─▶ told
 */
import { unreachable } from '../../kernel/assert.ts';
import { answer, type CommandIds, type Handled, invalid, later, nothing, recordsOf } from '../../kernel/handled.ts';
import type { AuditEffect, AuditRecord, AuditReply, AuditRequest, AuditTold, ReadAudit, TellAudit } from './audit-requests.ts';
import { auditLimits } from './audit-requests.ts';

export type AuditHandled = Handled<AuditRecord, AuditReply, AuditEffect>;

type ToldRecord = Pick<AuditTold, 'offset' | 'timeMs'>;

const nothingTold: ToldRecord = { offset: -1, timeMs: 0 };

export class AuditCore {
  readonly #told = new Map<string, ToldRecord>();

  handle(command: AuditRequest, nowMs: number, askId: number): AuditHandled {
    switch (command.kind) {
      case 'tellAudit':
        return this.#tell(command, nowMs);
      case 'describeAudit':
        return answer({ kind: 'auditTold', ...(this.#told.get(command.source) ?? nothingTold) });
      case 'readAudit':
        return read(command, askId);
      default:
        return unreachable(command);
    }
  }

  idsOf(command: AuditRequest): CommandIds {
    return { command: command.kind, ...('source' in command ? { source: command.source } : {}) };
  }

  accept(handled: AuditHandled): void {
    for (const record of recordsOf(handled)) this.evolve(record);
  }

  evolve({ entry }: AuditRecord): void {
    this.#told.set(entry.source, { offset: entry.offset, timeMs: entry.timeMs });
  }

  cancel(): AuditHandled {
    return nothing;
  }

  /** `isAnew`: the source has lost its journal, and counts from 0 again. */
  #tell({ source, entries, isAnew }: TellAudit, timeMs: number): AuditHandled {
    let last = isAnew ? nothingTold : (this.#told.get(source) ?? nothingTold);
    if (entries.length > auditLimits.entriesPerTellMax)
      return invalid(`${auditLimits.entriesPerTellMax} entries are accepted at once at most`);
    const records: AuditRecord[] = [];
    for (const entry of entries) {
      if (entry.source !== source) return invalid(`an entry of ${entry.source} is told by ${source}`);
      if (entry.offset <= last.offset) continue;
      last = { offset: entry.offset, timeMs: entry.timeMs };
      records.push({ kind: 'entry', timeMs, entry });
    }
    const record = records.pop();
    const reply: AuditReply = { kind: 'auditTold', ...last };
    if (record === undefined) return answer(reply);
    return { kind: 'commit', before: records, record, reply, effects: [] };
  }
}

function read(command: ReadAudit, askId: number): AuditHandled {
  if (!(command.max >= 1)) return invalid('a page has one entry at least');
  return later([{ kind: 'readEntries', askId, request: command }]);
}
