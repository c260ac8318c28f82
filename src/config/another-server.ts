/**
 * Another server has what this one was to serve, or has taken it. Until several processes serve together, only a person can say which of the
 * two is meant: a supervisor that starts this one again and again would have the two take the log from each other for ever.
 */
export class AnotherServerError extends Error {
  override readonly name = 'AnotherServerError';
}
