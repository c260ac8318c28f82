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
