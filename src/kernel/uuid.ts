const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Run ids are UUIDs; those that clients and workflows name may be written in upper case. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}
