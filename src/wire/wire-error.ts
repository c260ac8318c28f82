import { Undecodable } from '../kernel/undecodable.ts';

/** Input that is not what the schema says, or is larger than the reader's limits. */
export class WireError extends Undecodable {
  override readonly name = 'WireError';
}

/** Well-formed, and still more than the reader was told to take. */
export class WireLimitError extends WireError {}

/** undefined: it is none of what is read. */
export function unlessMalformed<Message>(read: () => Message): Message | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
