/** The actor's side of an attachment, reduced to what tests want: append these records, tell me the outcome, keep a protocol. */
import type { AppendOutcome, BatchSource, Log, LogAttachment, LogRecord, PartitionId, SealedBatch } from '../../src/ports/log.ts';

export type WriterEvent = { readonly kind: 'seal' | 'settle'; readonly partition: number };

type Waiting = { readonly records: readonly LogRecord[]; readonly resolve: (outcome: AppendOutcome) => void };

export class LogWriter implements BatchSource {
  readonly #attachment: LogAttachment;
  readonly #partition: number;
  readonly #events: WriterEvent[] | undefined;
  readonly #open: Waiting[] = [];
  readonly #underWay = new Map<number, Waiting>();
  #generation = 0;
  #inReady = false;
  /** Rules of the port that the log broke. */
  readonly broken: string[] = [];
  /** How often it was told to look at its tail. */
  reconnections = 0;

  constructor(log: Log, partition: PartitionId, events?: WriterEvent[]) {
    this.#partition = partition.partition;
    this.#events = events;
    this.#attachment = log.attach(partition, this);
  }

  /** One batch with these records. */
  append(...records: readonly LogRecord[]): Promise<AppendOutcome> {
    return new Promise((resolve) => {
      this.#open.push({ records, resolve });
      this.ready();
    });
  }

  get sealed(): number {
    return this.#generation;
  }

  ready(): void {
    this.#inReady = true;
    this.#attachment.ready();
    this.#inReady = false;
  }

  detach(): void {
    this.#attachment.detach();
  }

  reconnected(): void {
    this.reconnections++;
  }

  seal(): SealedBatch | undefined {
    this.#events?.push({ kind: 'seal', partition: this.#partition });
    if (this.#inReady) this.broken.push('seal within ready');
    if (this.#underWay.size > 0) this.broken.push('seal while a batch is under way');
    const next = this.#open.shift();
    if (next === undefined) return undefined;
    const generation = ++this.#generation;
    this.#underWay.set(generation, next);
    if (this.#open.length > 0) this.ready();
    return { generation, records: next.records };
  }

  settle(outcome: AppendOutcome): void {
    this.#events?.push({ kind: 'settle', partition: this.#partition });
    if (this.#inReady) this.broken.push('settle within ready');
    const waiting = this.#underWay.get(outcome.generation);
    if (waiting === undefined) this.broken.push(`an outcome of generation ${outcome.generation}, which is not under way`);
    this.#underWay.delete(outcome.generation);
    waiting?.resolve(outcome);
  }
}

export function record(sequence: number, fields: Partial<LogRecord> = {}): LogRecord {
  return {
    key: 'default/order-1',
    schema: 1,
    epoch: 1,
    sequence,
    type: 'WorkflowExecutionStarted',
    namespace: 'default',
    workflowId: 'order-1',
    runId: '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11',
    timeMs: 1_770_000_000_000 + sequence,
    value: new TextEncoder().encode(`value ${sequence}`),
    ...fields,
  };
}

/** The base offset, or a failed test. */
export function baseOf(outcome: AppendOutcome): number {
  if (outcome.kind !== 'appended') throw new Error(`expected an append, got ${JSON.stringify(outcome)}`);
  return outcome.baseOffset;
}

export async function readAll(log: Log, partition: PartitionId, maxBytes = 1024 * 1024): Promise<Awaited<ReturnType<Log['read']>>> {
  const all = [];
  let offset = (await log.bounds(partition)).start;
  for (;;) {
    const page = await log.read(partition, offset, maxBytes);
    if (page.length === 0) return all;
    all.push(...page);
    offset += page.length;
  }
}
