/**
 * Names that clients choose, as UTF-8. A text with half of a surrogate pair has no UTF-8: it is kept as UTF-16 behind a byte that no UTF-8 has,
 * so that two names never become one.
 */
export function nameBytes(name: string): Uint8Array {
  if (name.isWellFormed()) return Buffer.from(name, 'utf8');
  return Buffer.concat([Buffer.of(illFormed), Buffer.from(name, 'utf16le')]);
}

const illFormed = 0xff;

export function nameText(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return bytes[0] === illFormed ? buffer.toString('utf16le', 1) : buffer.toString('utf8');
}

/** The name that has these bytes; undefined: none has. */
export function readableName(bytes: Uint8Array): string | undefined {
  const name = nameText(bytes);
  return Buffer.compare(nameBytes(name), bytes) === 0 ? name : undefined;
}

/**
 * Stands for a stored name whose bytes are no text. To put U+FFFD where a byte is damaged would make one name of two, and a name that is looked
 * for is not found by it.
 */
export function unreadableName(bytes: Uint8Array): string {
  return `unreadable name ${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}
