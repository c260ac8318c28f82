/** What scripts may rely on. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Wrong flags or arguments, bad configuration. */
  usage: 2,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
