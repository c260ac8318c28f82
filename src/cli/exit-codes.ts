/** What scripts may rely on. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Wrong flags or arguments, bad configuration. */
  usage: 2,
  /** Another server serves this log: starting again changes nothing until a person has stopped one of them. */
  anotherServer: 3,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
