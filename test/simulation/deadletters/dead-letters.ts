/** Dead letters in a run of history shards: tasks fail until calm, operators work on what comes of it, and then all of it must be merged. */
import type { JournalId } from '../../../src/projections/database-port.ts';
import type { Journal } from '../history/oracle.ts';
import type { HistoryCluster } from '../history/cluster.ts';
import { type LetterPlan, queuePartition, queues } from './actors.ts';
import { LetterLoad } from './load.ts';
import { checkHandOvers, checkIndex, checkMerges, checkQueueMemory, LetterJournal, type ShardRecords } from './oracle.ts';

export class DeadLetters {
  readonly #cluster: HistoryCluster;
  readonly #load: LetterLoad;
  readonly #shards: readonly Journal[];
  readonly #journals: readonly LetterJournal[];

  constructor(cluster: HistoryCluster, plan: LetterPlan, shards: readonly Journal[]) {
    this.#cluster = cluster;
    this.#load = new LetterLoad(cluster, plan);
    this.#shards = shards;
    this.#journals = queues.map((queue) => new LetterJournal(queue, cluster.broker.records(queuePartition(queue))));
  }

  operate(): void {
    this.#load.operator();
  }

  calm(): void {
    this.#cluster.tasksFail = false;
    this.#load.calm();
  }

  /** Nothing is a letter, or on its way to be one, and nobody works on any. */
  get isEmpty(): boolean {
    const isOnItsWay = this.#shards.some((shard) =>
      [...(shard.folded().handOvers?.values() ?? [])].some(({ waiting }) => waiting.length > 0),
    );
    return !isOnItsWay && this.#load.activeJobs === 0 && this.#journals.every(({ letters }) => letters === 0);
  }

  get hasPurged(): boolean {
    return this.#journals.some((journal) => journal.folded().state.ids.count('purged') > 0);
  }

  get report(): string {
    const queued = this.#journals.map(({ letters, queue }) => `${letters} of ${queue.category}`);
    return `${queued.join(', ')} and ${this.#load.activeJobs} jobs in calm: ${JSON.stringify([...this.#load.jobs.values()].slice(-3))}`;
  }

  checkIndex({ partition }: JournalId): void {
    const journal = this.#journals[partition - 1];
    if (journal !== undefined && this.#cluster.disk !== undefined) checkIndex(this.#cluster.disk.tables, journal);
  }

  check(isOver: boolean): void {
    const { shards } = this.#cluster.options;
    const records = this.#shards.map((journal, index): ShardRecords => ({ shard: index + 1, records: journal.records }));
    checkHandOvers(this.#journals, records, isOver);
    checkMerges(this.#journals, records);
    this.#load.checkCounts();
    for (const [index, journal] of this.#journals.entries()) {
      const [owner] = this.#cluster.owners(shards + index);
      checkQueueMemory(`${owner?.node.name} ${journal.queue.category}`, owner?.queues[index], journal);
      this.checkIndex({ kind: 'deadLetters', partition: journal.queue.number });
      const { ids } = journal.folded().state;
      this.#told(journal.queue.category, {
        made: ids.nextId,
        merged: ids.count('merged'),
        purged: ids.count('purged'),
        restored: journal.restored,
      });
    }
  }

  /** What a run has come by. */
  #told(category: string, counts: Readonly<Record<string, number>>): void {
    for (const [what, count] of Object.entries(counts)) if (count > 0) this.#cluster.said(`letters of ${category} were ${what}`);
  }
}
