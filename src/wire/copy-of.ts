/**
 * V8 keeps typed arrays of up to 64 bytes inside its heap, until native code touches them: then they move out, which costs fifteen times
 * as much as copying them here.
 */
export function copyOf(buffer: Buffer, start: number, length: number): Uint8Array {
  const copy = new Uint8Array(length);
  if (length > 64) buffer.copy(copy, 0, start, start + length);
  else for (let i = 0; i < length; i++) copy[i] = buffer[start + i] as number;
  return copy;
}
