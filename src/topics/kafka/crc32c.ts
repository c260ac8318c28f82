/** CRC-32C (Castagnoli), the checksum of Kafka's record batches; `node:zlib` has only the other polynomial. */
const table = buildTable();

export function crc32c(bytes: Uint8Array): number {
  let crc = -1;
  for (let index = 0; index < bytes.length; index++) {
    crc = (table[(crc ^ (bytes[index] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}

function buildTable(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    return crc;
  });
}
