/** FarmHash's Fingerprint64, as Temporal names archived histories by it. For short texts, now and then. */
const mask = (1n << 64n) - 1n;
const k0 = 0xc3a5c85c97cb3127n;
const k1 = 0xb492b66fbe98f273n;
const k2 = 0x9ae16a3b2f90404fn;

type Pair = readonly [bigint, bigint];

export function fingerprint64(text: string): bigint {
  const bytes = Buffer.from(text);
  if (bytes.length <= 16) return upTo16(bytes);
  if (bytes.length <= 32) return upTo32(bytes);
  return bytes.length <= 64 ? upTo64(bytes) : longer(bytes);
}

function at(bytes: Buffer, offset: number): bigint {
  return bytes.readBigUInt64LE(offset);
}

function cut(value: bigint): bigint {
  return value & mask;
}

function rotate(value: bigint, by: bigint): bigint {
  return cut((value >> by) | (value << (64n - by)));
}

function shiftMix(value: bigint): bigint {
  return value ^ (value >> 47n);
}

function mix(u: bigint, v: bigint, mul: bigint): bigint {
  const a = shiftMix(cut((u ^ v) * mul));
  return cut(shiftMix(cut((v ^ a) * mul)) * mul);
}

function upTo16(bytes: Buffer): bigint {
  const { length } = bytes;
  const mul = k2 + BigInt(length) * 2n;
  if (length >= 8) {
    const a = cut(at(bytes, 0) + k2);
    const b = at(bytes, length - 8);
    return mix(cut(rotate(b, 37n) * mul + a), cut((rotate(a, 25n) + b) * mul), mul);
  }
  if (length >= 4) return mix(BigInt(length) + (BigInt(bytes.readUInt32LE(0)) << 3n), BigInt(bytes.readUInt32LE(length - 4)), mul);
  if (length === 0) return k2;
  const y = BigInt(bytes.readUInt8(0) + (bytes.readUInt8(length >> 1) << 8));
  const z = BigInt(length + (bytes.readUInt8(length - 1) << 2));
  return cut(shiftMix(cut((y * k2) ^ (z * k0))) * k2);
}

function upTo32(bytes: Buffer): bigint {
  const { length } = bytes;
  const mul = k2 + BigInt(length) * 2n;
  const a = cut(at(bytes, 0) * k1);
  const b = at(bytes, 8);
  const c = cut(at(bytes, length - 8) * mul);
  const d = cut(at(bytes, length - 16) * k2);
  return mix(cut(rotate(cut(a + b), 43n) + rotate(c, 30n) + d), cut(a + rotate(cut(b + k2), 18n) + c), mul);
}

function upTo64(bytes: Buffer): bigint {
  const { length } = bytes;
  const mul = k2 + BigInt(length) * 2n;
  const a = cut(at(bytes, 0) * k2);
  const b = at(bytes, 8);
  const c = cut(at(bytes, length - 8) * mul);
  const d = cut(at(bytes, length - 16) * k2);
  const y = cut(rotate(cut(a + b), 43n) + rotate(c, 30n) + d);
  const z = mix(y, cut(a + rotate(cut(b + k2), 18n) + c), mul);
  const e = cut(at(bytes, 16) * mul);
  const f = at(bytes, 24);
  const g = cut((y + at(bytes, length - 32)) * mul);
  const h = cut((z + at(bytes, length - 24)) * mul);
  return mix(cut(rotate(cut(e + f), 43n) + rotate(g, 30n) + h), cut(e + rotate(cut(f + a), 18n) + g), mul);
}

function weak(bytes: Buffer, offset: number, seedA: bigint, seedB: bigint): Pair {
  const a = cut(seedA + at(bytes, offset));
  const z = at(bytes, offset + 24);
  const b = rotate(cut(seedB + a + z), 21n);
  const sum = cut(a + at(bytes, offset + 8) + at(bytes, offset + 16));
  return [cut(sum + z), cut(b + rotate(sum, 44n) + a)];
}

function longer(bytes: Buffer): bigint {
  const seed = 81n;
  let x = cut(seed * k2 + at(bytes, 0));
  let y = cut(seed * k1 + 113n);
  let z = cut(shiftMix(cut(y * k2 + 113n)) * k2);
  let v: Pair = [0n, 0n];
  let w: Pair = [0n, 0n];
  const round = (offset: number, mul: bigint, factor: bigint): void => {
    x = cut(rotate(cut(x + y + v[0] + at(bytes, offset + 8)), 37n) * mul);
    y = cut(rotate(cut(y + v[1] + at(bytes, offset + 48)), 42n) * mul);
    x ^= cut(w[1] * factor);
    y = cut(y + v[0] * factor + at(bytes, offset + 40));
    z = cut(rotate(cut(z + w[0]), 33n) * mul);
    v = weak(bytes, offset, cut(v[1] * mul), cut(x + w[0]));
    w = weak(bytes, offset + 32, cut(z + w[1]), cut(y + at(bytes, offset + 16)));
    [z, x] = [x, z];
  };
  const rest = (bytes.length - 1) & 63;
  const end = bytes.length - 1 - rest;
  for (let offset = 0; offset < end; offset += 64) round(offset, k1, 1n);
  const mul = k1 + ((z & 0xffn) << 1n);
  w = [cut(w[0] + BigInt(rest)), w[1]];
  v = [cut(v[0] + w[0]), v[1]];
  w = [cut(w[0] + v[0]), w[1]];
  round(end + rest - 63, mul, 9n);
  return mix(cut(mix(v[0], w[0], mul) + shiftMix(y) * k0 + z), cut(mix(v[1], w[1], mul) + x), mul);
}
