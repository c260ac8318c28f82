/** This process, as one of a cluster's hosts: until processes serve together it is all of them, in every role. */
export type Host = {
  /** A name or an address that others can reach. */
  readonly name: string;
  readonly port: number;
  /** A UUID, new with each start. */
  readonly id: string;
  readonly startedTimeMs: number;
};

/** As `ClusterMemberRole` counts them, from 1. */
export const roles = ['frontend', 'history', 'matching', 'worker'] as const;

export function addressOf({ name, port }: Host): string {
  return name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
}
