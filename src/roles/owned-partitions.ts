/** The partitions of one topic that this process may own. Attached, an actor takes its partition over; detached, it commits and lets go. */
type Owner = {
  readonly actor: { start(): void; drain(): Promise<void> };
  /** The highest offset at which its journal may begin; records before that are not needed. */
  readonly journalStartMax: number;
};

export class OwnedPartitions<Host extends Owner> {
  readonly hosts: readonly Host[];

  constructor(hosts: readonly Host[]) {
    this.hosts = hosts;
  }

  attach(partition: number): void {
    this.hosts[partition]?.actor.start();
  }

  attachAll(): void {
    for (const { actor } of this.hosts) actor.start();
  }

  async detachAll(): Promise<void> {
    await Promise.all(this.hosts.map(({ actor }) => actor.drain()));
  }

  journalStartMax(partition: number): number {
    return this.hosts[partition]?.journalStartMax ?? 0;
  }
}
