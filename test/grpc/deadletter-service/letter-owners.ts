/** Owners of queues, and of jobs, that answer from memory: what the edge makes of requests and answers is tested with them. */
import type { AskContext, AskFailure } from '../../../src/actors/asks/asks.ts';
import type { KnownDeadLetterQueue } from '../../../src/cluster/cluster-records.ts';
import type { DeadLetterReply, DeadLetterRequest, LetterContent, ListedLetter } from '../../../src/deadletters/letter-commands.ts';
import type { Letter } from '../../../src/deadletters/letter.ts';
import { letterRow, type LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { JobsReply, JobsRequest } from '../../../src/deadletters/jobs/job.ts';
import type { AuditAsker, JobsAsker } from '../../../src/actors/asks/router.ts';
import type { AuditRequest } from '../../../src/deadletters/audit/audit-requests.ts';
import type { StubServer } from '../stub-ports.ts';
import { letterGroups, letterIdPage, letterPage, lettersThat } from '../../support/letter-oracle.ts';

type Stored = { readonly row: LetterRow; readonly content: LetterContent };

export class LetterOwners implements JobsAsker, AuditAsker {
  #queues: KnownDeadLetterQueue[] = [];
  readonly jobsRequests: JobsRequest[] = [];
  readonly #letters = new Map<number, Map<number, Stored>>();
  /** By queue: it has no owner. */
  readonly away = new Set<number>();
  jobs: (request: JobsRequest) => JobsReply | AskFailure = () => ({
    kind: 'rejected',
    rejection: { reason: 'not-found', message: 'no such job' },
  });

  addQueue(category: string, sourceCluster: string): number {
    const number = this.#queues.length + 1;
    this.#queues.push({ number, category, sourceCluster });
    this.#letters.set(number, new Map());
    return number;
  }

  add(queue: number, messageId: number, letter: Letter): void {
    const { sourceCluster } = this.#queues[queue - 1] as KnownDeadLetterQueue;
    const row = letterRow({ kind: 'letter', timeMs: letter.deadLetterTimeMs, messageId, letter }, { sourceCluster, offset: messageId });
    const content = { value: letter.task.value, headers: [{ name: 'perdure.cause', value: letter.failure.cause }], letter, problem: '' };
    this.#of(queue).set(messageId, { row, content });
  }

  addDamaged(queue: number, messageId: number, value: Uint8Array, reason: string): void {
    const record = { kind: 'damaged', timeMs: 5, messageId, reason, handOver: undefined, state: 'open' } as const;
    const row = letterRow(record, { sourceCluster: 'active', offset: messageId });
    const headers = [{ name: 'perdure.schema', value: '9' }];
    this.#of(queue).set(messageId, { row, content: { value, headers, letter: undefined, problem: reason } });
  }

  rowsOf(queue: number): readonly LetterRow[] {
    return [...this.#of(queue).values()].map(({ row }) => row);
  }

  askJobs<Request extends JobsRequest>(request: Request, _context: AskContext, onReply: (answer: never) => void): number {
    this.jobsRequests.push(request);
    queueMicrotask(() => onReply(this.jobs(request) as never));
    return this.jobsRequests.length;
  }

  /** Nothing has happened. */
  askAudit<Request extends AuditRequest>(_request: Request, _context: AskContext, onReply: (answer: never) => void): number {
    queueMicrotask(() => onReply({ kind: 'auditEntries', entries: [], before: undefined } as never));
    return 1;
  }

  #of(queue: number): Map<number, Stored> {
    return this.#letters.get(queue) as Map<number, Stored>;
  }

  /** For a stub of the server. */
  serveOn({ answers, deadLetterQueues }: StubServer): void {
    this.#queues = deadLetterQueues;
    answers.deadLetters = (queue, request) => this.#answer(queue, request);
  }

  #answer(queue: number, request: DeadLetterRequest): DeadLetterReply | AskFailure {
    if (this.away.has(queue)) return { kind: 'unavailable', message: `dead letter queue ${queue} is being taken over` };
    const stored = this.#of(queue);
    const rows = this.rowsOf(queue);
    switch (request.kind) {
      case 'listLetters': {
        const { letters, isLast } = letterPage(rows, request);
        const listed = letters.map((row): ListedLetter => {
          return { row, content: request.withContent ? stored.get(row.messageId)?.content : undefined };
        });
        return { kind: 'letters', letters: listed, isLast };
      }
      case 'readLetter': {
        const letter = stored.get(request.messageId);
        if (letter !== undefined) return { kind: 'letter', letter };
        return { kind: 'rejected', rejection: { reason: 'not-in-queue', message: `message ${request.messageId} is already merged` } };
      }
      case 'findLetters':
        return { kind: 'letterIds', ...letterIdPage(rows, request) };
      case 'countMatching':
        return { kind: 'matched', count: lettersThat(rows, request.condition).length };
      case 'groupLetters':
        return { kind: 'groups', groups: letterGroups(rows, request) };
      case 'countLetters': {
        const ids = rows.map(({ messageId }) => messageId);
        const quarantined = rows.filter(({ state }) => state === 'quarantined').length;
        return {
          kind: 'counted',
          nextId: Math.max(-1, ...ids) + 1,
          lowestOpen: ids.length === 0 ? undefined : Math.min(...ids),
          open: rows.length - quarantined,
          quarantined,
          merged: 0,
          uncutPurges: 0,
          comebacks: '',
          incarnation: 0,
          purged: 0,
        };
      }
      default:
        throw new Error(`the edge asks for ${request.kind}`);
    }
  }
}
