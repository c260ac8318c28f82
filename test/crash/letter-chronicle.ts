/**
 * What became of each dead letter, as whoever reads its topic with a plain Kafka client learns it: also of those whose topic, or whose records, somebody
 * deletes, for it is read before that.
 *
 *     record ─▶ open ─▶ merged, merged-noop, purged ─(restored)─▶ open        its topic is deleted, or its record cut: gone
 */
import type { ConsumedRecord } from '../acceptance/kafka-admin.ts';

export type Fate = {
  /** Which topic of that name, from 0. */
  readonly life: number;
  /** Which cluster made it, and which one has merged or purged it; from 0. */
  readonly cluster: number;
  resolvedBy: number;
  readonly messageId: number;
  readonly workflowId: string;
  readonly taskId: string;
  how: 'open' | 'merged' | 'merged-noop' | 'purged';
  /** Whose tombstone it has. */
  jobId: string;
  /** Of its last record. */
  offset: number;
  /** Somebody has deleted its record, while it was open. */
  isCut: boolean;
};

export class LetterChronicle {
  readonly wrong: string[] = [];
  #letters = new Map<number, Fate>();
  readonly #before: Fate[] = [];
  #life = 0;
  #cluster = 0;
  #next = 0;
  #epoch = 0;

  get life(): number {
    return this.#life;
  }

  get cluster(): number {
    return this.#cluster;
  }

  /** Where it was read up to. */
  get end(): number {
    return this.#next;
  }

  /** Of all topics. */
  get fates(): readonly Fate[] {
    return [...this.#before, ...this.#letters.values()];
  }

  get open(): readonly Fate[] {
    return [...this.#letters.values()].filter(({ how, isCut }) => how === 'open' && !isCut);
  }

  /** All that the topic holds. */
  read(records: readonly ConsumedRecord[]): void {
    for (const { message } of records) {
      const offset = Number(message.offset);
      if (offset < this.#next) continue;
      if (offset > this.#next) this.wrong.push(`records ${this.#next} to ${offset - 1} were gone before anybody deleted them`);
      this.#next = offset + 1;
      const headers = new Map(Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]));
      const [key, epoch] = [String(message.key), Number(headers.get('perdure.epoch'))];
      // Behind the claim of the next owner, what an earlier one still wrote is void.
      if (key === '@claim' && epoch > this.#epoch) this.#epoch = epoch;
      if (epoch === this.#epoch && /^\d+$/.test(key)) this.#evolve(Number(key), offset, message.value, headers);
    }
  }

  #evolve(messageId: number, offset: number, value: Buffer | null, headers: ReadonlyMap<string, string>): void {
    const fate = this.#letters.get(messageId);
    if (value !== null) {
      const workflowId = headers.get('perdure.workflow-id') ?? '';
      if (fate === undefined) {
        const [life, cluster] = [this.#life, this.#cluster];
        const is = { life, cluster, resolvedBy: cluster, messageId, workflowId, taskId: headers.get('perdure.task-id') ?? '' };
        this.#letters.set(messageId, { ...is, how: 'open', jobId: '', offset, isCut: false });
        return;
      }
      if (fate.workflowId !== workflowId) this.wrong.push(`${nameOf(fate)} is ${workflowId} now`);
      if (fate.how.startsWith('merged')) this.wrong.push(`${nameOf(fate)} is back, and was ${fate.how}`);
      Object.assign(fate, { how: 'open', jobId: '', offset, isCut: false });
      return;
    }
    const how = headers.get('perdure.how') as Fate['how'];
    if (fate === undefined) return void this.wrong.push(`message ${messageId} is ${how}, and never was a letter`);
    if (fate.how !== 'open') this.wrong.push(`${nameOf(fate)} is ${how}, and was ${fate.how}`);
    Object.assign(fate, { how, jobId: headers.get('perdure.job') ?? '', resolvedBy: this.#cluster, offset });
  }

  cutBefore(offset: number): void {
    for (const fate of this.open) if (fate.offset < offset) fate.isCut = true;
  }

  topicIsDeleted(): void {
    this.#before.push(...this.#letters.values());
    this.#letters = new Map();
    this.#life += 1;
    this.#next = 0;
    this.#epoch = 0;
  }

  clusterIsDeleted(): void {
    this.#cluster += 1;
  }
}

export function nameOf({ life, messageId, workflowId }: Fate): string {
  return `message ${messageId} of topic ${life} (${workflowId})`;
}
