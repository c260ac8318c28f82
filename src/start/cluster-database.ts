/**
 * A database belongs to one cluster: rows of another cluster must never be combined with these journals.
 *
 *     database of       the log knows its cluster       the log knows none: a first start
 *     no cluster        bound to this one, if the       restored from, and bound once the cluster has its identity
 *                       journals reach back to its end
 *     this cluster      used                            –
 *     another one       refused                         refused: the log was lost, or is another one
 *
 * This is checked before the first claim, so that a refused start has changed nothing. A database that does not answer then is checked
 * again before a shard restores from it.
 */
import { LogError, partitionName } from '../ports/log.ts';
import { DatabaseError, type CheckpointPosition, type Database, type JournalId } from '../projections/database-port.ts';
import { foreignSchema } from '../projections/checkpoints/fenced-rows.ts';
import { missingBeginning, missingEnd } from '../actors/ownership/missing-records.ts';
import type { Log, PartitionId } from '../ports/log.ts';

export type ClusterDatabaseOptions = {
  /** A plain object with own methods, because wrappers copy its properties. */
  readonly database: Database;
  /** Whether the database does not exist yet: any call would create it. */
  readonly isNew: boolean;
  readonly logName: string;
  /** The cluster id in the log; undefined at a first start. */
  readonly clusterId: string | undefined;
};

export type CheckpointedJournal = {
  readonly journal: JournalId;
  readonly partition: PartitionId;
};

export class ClusterDatabase {
  /** Restores nothing before it is known to be this cluster's. */
  readonly database: Database;
  readonly #options: ClusterDatabaseOptions;
  #isOurs = false;

  constructor(options: ClusterDatabaseOptions) {
    const { database } = options;
    this.#options = options;
    this.database = {
      ...database,
      restore: async (journal) => {
        if (!this.#isOurs) await this.makeOurs();
        return await database.restore(journal);
      },
    };
  }

  /** Changes nothing. Throws DatabaseError if the database is another cluster's or does not answer. */
  async checkOwner(): Promise<void> {
    if (!this.#options.isNew) await this.#look();
  }

  /** One that is ours is bound again, which fails if nothing can be written. Throws DatabaseError, also for another cluster's. */
  async makeOurs(): Promise<void> {
    if (!this.#isOurs) await this.#look();
    const { clusterId } = this.#options;
    if (clusterId !== undefined) await this.bind(clusterId);
  }

  async #look(): Promise<void> {
    const { database, clusterId } = this.#options;
    const owner = await database.cluster();
    if (owner !== undefined && owner !== clusterId) throw this.#anothers(owner);
    this.#isOurs = owner === clusterId;
  }

  async bind(clusterId: string): Promise<void> {
    const owner = await this.#options.database.bind(clusterId);
    if (owner !== clusterId) throw this.#anothers(owner, clusterId);
    this.#isOurs = true;
  }

  /** Throws LogError with what is missing. Then no journal is served: complete ones would go on, and the database could not be replaced. */
  async checkJournals(log: Pick<Log, 'bounds'>, journals: readonly CheckpointedJournal[]): Promise<void> {
    const troubles = await Promise.all(journals.map((each) => this.#troubleOf(log, each)));
    const [first, ...others] = troubles.filter((each) => each !== undefined);
    if (first === undefined) return;
    const { database, isNew, logName } = this.#options;
    const problem = isNew ? `is not there, but belongs to the journals in ${logName}` : `does not go with the journals in ${logName}`;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    throw new LogError('corrupt', `${database.name} ${problem}: ${first}${more}`);
  }

  async #troubleOf(log: Pick<Log, 'bounds'>, { journal, partition }: CheckpointedJournal): Promise<string | undefined> {
    const { database, isNew } = this.#options;
    for (let before: CheckpointPosition | undefined, isFirst = true; ; isFirst = false) {
      const { position } = isNew ? { position: undefined } : await database.position(journal);
      const bounds = await log.bounds(partition);
      const foreign = position === undefined ? undefined : foreignSchema(position);
      const trouble = foreign ?? missingBeginning(bounds, position, true) ?? missingEnd(bounds, position);
      if (trouble === undefined) return undefined;
      // An owner that is stopping may have written a checkpoint in between, and trimmed the journal.
      if (!isFirst && before?.nextOffset === position?.nextOffset) return `${partitionName(partition)}: ${trouble}`;
      before = position;
    }
  }

  #anothers(owner: string, clusterId = this.#options.clusterId): DatabaseError {
    const { database, logName } = this.#options;
    const [who, wayOut] =
      clusterId === undefined
        ? [
            `${logName} holds no cluster yet: the journals were lost, or another log was named`,
            'Restore the journals that belong to this database; or, for a new cluster, name another database, or move this one away',
          ]
        : [
            `the journals in ${logName} are those of cluster ${clusterId}`,
            'Put back the database that belongs to these journals, or name another one: if its journals still begin at offset 0, it is rebuilt from them',
          ];
    return new DatabaseError('misconfigured', `${database.name} holds the state of cluster ${owner}, but ${who}. ${wayOut}`);
  }
}
