import { timesAlwaysWritten } from '../../scripts/generate/hot-messages.ts';

const fields: ReadonlySet<string> = new Set(timesAlwaysWritten.map((path) => path.slice(path.lastIndexOf('.') + 1)));

/** A decoded message without the durations of 0 that our codecs write where others have none. */
export function withoutZeros(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message), (name, value: unknown) => (fields.has(name) && isEmpty(value) ? undefined : value));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
