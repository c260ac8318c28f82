/**
 * Appends of an owner that serves: what is sealed, and how what became of it is judged, by the base offset that the log answered:
 *
 *     = expected   committed
 *     > expected   the stretch between is read: only void records → committed; a rival's claim before the batch → ownership lost;
 *                  cannot be told → doubt
 *     < expected   confirmed records are gone: the partition fails, loudly
 *     refused      it is not in the log and never will be: the same records are sent again, in the same epoch, after a while; those of a
 *                  batch that was too large in two halves
 *     unknown      doubt: claim the next epoch, then read what stands before that claim (takeover.ts)
 *     failed       a bug of ours: the partition fails, loudly
 *
 * Whoever looks back into the log holds on to its `Service`: in doubt, or let go, the owner has another one or none, and others know better.
 */
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { AppendOutcome, LogRecord, SealedBatch } from '../../ports/log.ts';
import type { JournalTail } from './log-stretch.ts';
import type { Ownership } from './ownership.ts';
import type { Append, FoundEnd, LookBack, Service } from './partition-life.ts';

/** A log that refuses for longer than this does not hold up a shutdown. */
const DRAIN_REFUSED_MS_MAX = 3_000;

type AppendsParts = Ownership & { readonly tail: JournalTail };

export class Appends {
  readonly #parts: AppendsParts;

  constructor(parts: AppendsParts) {
    this.#parts = parts;
  }

  wanted({ again }: Service): boolean {
    return again.length > 0 || this.#parts.memory.openRecords() > 0;
  }

  seal(service: Service): SealedBatch | undefined {
    if (service.underWay !== undefined) return undefined;
    const records = this.#nextBatch(service);
    if (records === undefined) return undefined;
    const proof = this.#parts.barrier.beginProof();
    service.underWay = { kind: 'append', proof, records, endPending: undefined };
    return { generation: proof, records };
  }

  #nextBatch(service: Service): readonly LogRecord[] | undefined {
    const { position, memory } = this.#parts;
    const { epoch, sequence } = position.cursor;
    const again = service.again.shift();
    // In the same epoch the stamps come out as they were: (epoch, sequence) names one content for ever (T2).
    if (again !== undefined) return again.map((record, index) => ({ ...record, epoch, sequence: sequence + 1 + index }));
    return memory.openRecords() === 0 ? undefined : memory.seal(epoch, sequence + 1);
  }

  settle(service: Service, outcome: AppendOutcome): void {
    const { underWay } = service;
    // The outcome of an append that was given up: what became of it, the log has told or will tell.
    if (underWay?.kind !== 'append' || outcome.generation !== underWay.proof) return;
    switch (outcome.kind) {
      case 'appended':
        return this.#appended(service, underWay, outcome.baseOffset);
      case 'refused':
        return this.#refused(service, underWay, outcome.reason, outcome.tooLarge === true);
      case 'unknown':
        return this.#parts.findings.doubt(`an append's outcome is unknown: ${outcome.reason}`);
      case 'failed':
        return this.#parts.findings.fail(`an append cannot be sent: ${errorText(outcome.error)}`, outcome.error);
      default:
        return unreachable(outcome);
    }
  }

  #appended(service: Service, append: Append, baseOffset: number): void {
    const { position, findings } = this.#parts;
    const expected = position.cursor.offset;
    if (baseOffset < expected) return findings.vanished(`an append landed at ${baseOffset}`);
    if (baseOffset > expected || service.suspect) return this.#lookBack(service, baseOffset + append.records.length, append);
    this.confirm(append.records, expected);
    this.#parts.barrier.prove(append.proof);
    this.#over(service);
  }

  /** All records of a batch count, the first at `baseOffset`. */
  confirm(records: readonly LogRecord[], baseOffset: number): void {
    const { memory, position, trouble } = this.#parts;
    const [first] = records;
    assert(first !== undefined, 'a batch is never empty');
    memory.committed(records.length, { epoch: first.epoch, sequence: first.sequence, offset: baseOffset });
    position.confirm(records.length, baseOffset);
    trouble.over();
  }

  /** Nothing under way, nothing in doubt: what came in between is looked at, and things go on. */
  #over(service: Service): void {
    const endPending = service.underWay?.endPending;
    service.underWay = undefined;
    if (service.suspect) this.reconnected(service);
    if (endPending !== undefined) this.endFound(service, endPending);
    this.#parts.memory.settleTurn();
  }

  /** Nothing is in doubt: the same records go once more. What is wrong others mend; until then memory, answers and order stay. */
  #refused(service: Service, { records }: Append, reason: string, tooLarge: boolean): void {
    const { life, trouble, findings } = this.#parts;
    trouble.refused(reason);
    if (life.state === 'draining' && trouble.refusedMs >= DRAIN_REFUSED_MS_MAX) {
      return findings.close('was shut down while the log refused its appends');
    }
    if (tooLarge && records.length > 1) {
      service.again.unshift(...halves(records));
    } else {
      service.again.unshift(records);
      trouble.rest();
    }
    this.#over(service);
  }

  // ── Looking back ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What was confirmed must be found unchanged before anything more is (T6). An append under way is judged by reading, whatever it returns. */
  reconnected(service: Service): void {
    service.suspect = true;
    if (service.underWay === undefined) this.#lookBack(service, this.#parts.position.cursor.offset, undefined);
  }

  /** An end where we expect it is a proof for reads; but not before what was confirmed is found unchanged behind a new leader (T6). */
  endFound(service: Service, found: FoundEnd): void {
    const { position, barrier } = this.#parts;
    const { underWay, suspect } = service;
    const isTrusted = !suspect && underWay?.kind !== 'lookBack';
    if (isTrusted && found.end <= position.cursor.offset) return barrier.prove(found.proof);
    if (underWay === undefined) this.#lookBack(service, found.end, undefined, found.proof);
    else underWay.endPending = found;
  }

  #lookBack(service: Service, until: number, batch: Append | undefined, endProof = 0): void {
    const lookBack: LookBack = { kind: 'lookBack', batch, endPending: batch?.endPending };
    service.underWay = lookBack;
    service.suspect = false;
    this.#parts.silence.begins();
    this.#parts.findings.background(this.#judge(service, lookBack, until, endProof));
  }

  /** Others have appended below `until`. `batch` should be among it; undefined: only the end was looked at, by the proof `endProof`. */
  async #judge(service: Service, lookBack: LookBack, until: number, endProof: number): Promise<void> {
    const { life, memory, barrier, position, findings } = this.#parts;
    const { batch } = lookBack;
    const stretch = await this.#parts.tail.tryStretch(until, batch?.records ?? []);
    if (life.service !== service) return;
    if (stretch === undefined) return findings.doubt('the records before an append cannot be read');
    if (!stretch.intact) return findings.vanished('the last confirmed record was replaced');
    if (batch !== undefined && stretch.found !== undefined) {
      this.confirm(batch.records, stretch.found);
      barrier.prove(batch.proof);
      lookBack.batch = undefined;
    }
    if (stretch.rival !== undefined) {
      // Before the batch, or between its copies: what is confirmed was released in order, the rest is void.
      memory.releaseAll(() => life.service !== service);
      return findings.lost(stretch.rival);
    }
    if (stretch.foreign || lookBack.batch !== undefined) {
      return findings.doubt('the log holds records of this epoch that do not follow each other');
    }
    position.pass(stretch.cursor.offset);
    if (batch === undefined) barrier.prove(endProof);
    this.#over(service);
  }
}

function halves(records: readonly LogRecord[]): readonly (readonly LogRecord[])[] {
  const middle = Math.ceil(records.length / 2);
  return [records.slice(0, middle), records.slice(middle)];
}
