/** Names of clients as UTF-8. Half a surrogate pair has none: that name is UTF-16 behind a byte that no UTF-8 has, so it stays unique. */
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

/** Stands for a name whose bytes are no text. U+FFFD where one is damaged would make one name of two, and would not find the name. */
export function unreadableName(bytes: Uint8Array): string {
  return `unreadable name ${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}
