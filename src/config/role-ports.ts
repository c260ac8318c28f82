/** The roles that have a port of their own beside the frontend's. */
export const portRoles = ['history', 'matching'] as const;
export type PortRole = (typeof portRoles)[number];

export type RolePort = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Nobody has named this port: if it is in use, a free one serves as well. */
  readonly orFree: boolean;
};
