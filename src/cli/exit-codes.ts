/** What scripts may rely on. `server start` and `server start-dev` have one meaning for 3, all other commands the other. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Wrong flags or arguments, bad configuration. */
  usage: 2,
  /** Of a server: another one serves this log. Starting again changes nothing until a person has stopped one of them. */
  anotherServer: 3,
  /** Of what works on letters: it has ended, and letters of the selection remain. */
  partlyDone: 3,
  /** No server answers, or it does not serve. */
  unreachable: 4,
  denied: 5,
  /** SIGINT while it waited. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
