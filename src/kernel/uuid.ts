const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Run ids are UUIDs; those that clients and workflows name may be written in upper case. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** `random` with that time in front (RFC 9562, version 7): of two ids the later one is the greater, whoever made them. */
export function uuidAt(timeMs: number, random: string): string {
  const time = Math.max(0, Math.trunc(timeMs)).toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
