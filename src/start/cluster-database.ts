/**
 * The database of one cluster, and of no other: rows of another one would be folded together with journals that they know nothing of.
 *
 *     it is             the log knows its cluster       the log knows none: a first start
 *     nobody's          bound to it, if the journals    restored from, and bound once the cluster has its identity
 *                       reach back to where it ends
 *     this cluster's    gone on with                    –
 *     another's         refused                         refused: the log was lost, or is another one
 *
 * Looked at before the first claim, so that a start that is refused has changed nothing. A database that does not answer then is looked at
 * again before a shard restores from it.
 */
import { LogError, partitionName } from '../actors/log.ts';
import { DatabaseError, type CheckpointPosition, type Database, type JournalId } from '../actors/database.ts';
import { missingBeginning, missingEnd } from '../actors/ownership/missing-records.ts';
import type { Log, PartitionId } from '../actors/log.ts';

export type ClusterDatabaseOptions = {
  /** Its methods are its own: those of a class would be missing in what is made of it. */
  readonly database: Database;
  /** There is none: asking it anything would make it. */
  readonly isNew: boolean;
  /** For people. */
  readonly logName: string;
  /** As the log knows it; undefined: a first start. */
  readonly clusterId: string | undefined;
};

export type CheckpointedJournal = {
  readonly journal: JournalId;
  readonly partition: PartitionId;
  /** Why this program cannot read the rows of its checkpoint; undefined: it can. */
  readonly newer: (position: CheckpointPosition) => string | undefined;
};

export class ClusterDatabase {
  /** Restores nothing before it is known to be ours. */
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

  /** Changes nothing. Throws DatabaseError: it is another's, or cannot be asked. */
  async checkOwner(): Promise<void> {
    if (!this.#options.isNew) await this.#look();
  }

  /**
   * Makes what is new, and binds what is nobody's. One that is ours already is bound once more, which changes nothing, and fails where nothing can
   * be written. Throws DatabaseError: it is another's, or cannot be asked or written.
   */
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

  /** The cluster has its identity. */
  async bind(clusterId: string): Promise<void> {
    const owner = await this.#options.database.bind(clusterId);
    if (owner !== clusterId) throw this.#anothers(owner, clusterId);
    this.#isOurs = true;
  }

  /**
   * Throws LogError with what is missing of a journal that must go on: the database was lost, or is from another time than the log. No journal
   * is served then, though others may have all they need: they would go on from this database, and no other could be put in its place.
   */
  async checkJournals(log: Pick<Log, 'bounds'>, journals: readonly CheckpointedJournal[]): Promise<void> {
    const troubles = await Promise.all(journals.map((each) => this.#troubleOf(log, each)));
    const [first, ...others] = troubles.filter((each) => each !== undefined);
    if (first === undefined) return;
    const { database, isNew, logName } = this.#options;
    const problem = isNew ? `is not there, but belongs to the journals in ${logName}` : `does not go with the journals in ${logName}`;
    const more = others.length === 0 ? '' : ` (and ${others.length} more likewise)`;
    throw new LogError('corrupt', `${database.name} ${problem}: ${first}${more}`);
  }

  async #troubleOf(log: Pick<Log, 'bounds'>, { journal, partition, newer }: CheckpointedJournal): Promise<string | undefined> {
    const { database, isNew } = this.#options;
    for (let before: CheckpointPosition | undefined, isFirst = true; ; isFirst = false) {
      const { position } = isNew ? { position: undefined } : await database.position(journal);
      const bounds = await log.bounds(partition);
      const unreadable = position === undefined ? undefined : newer(position);
      const trouble = unreadable ?? missingBeginning(bounds, position, true) ?? missingEnd(bounds, position);
      if (trouble === undefined) return undefined;
      // An owner that is just stopping may have written a checkpoint in between, and trimmed behind it.
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
            'Put back the database that belongs to these journals, or name another one: where a journal still begins at offset 0, it is made anew',
          ];
    return new DatabaseError('misconfigured', `${database.name} holds the state of cluster ${owner}, but ${who}. ${wayOut}`);
  }
}
