import { Undecodable } from '../kernel/undecodable.ts';

/** Input that is not what the schema says, or is larger than the reader's limits. */
export class WireError extends Undecodable {
  override readonly name = 'WireError';
}

/** Well-formed, and still more than the reader was told to take. */
export class WireLimitError extends WireError {}
