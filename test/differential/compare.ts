import { status } from '@grpc/grpc-js';

export type Difference = { readonly path: string; readonly ours: unknown; readonly theirs: unknown };

/** The path of what a whole answer says, where one server refuses and the other does not, or refuses it otherwise. */
export const OUTCOME = 'outcome';

/** Every place where two answers differ; those that are refused in two ways, or by one server, differ in one. */
export function differences(ours: unknown, theirs: unknown): readonly Difference[] {
  const [mine, other] = [outcome(ours), outcome(theirs)];
  const areAlike = mine === other || (mine.startsWith('OK ') && other.startsWith('OK '));
  return areAlike ? inFields(ours, theirs, '') : [{ path: OUTCOME, ours: mine, theirs: other }];
}

/** `OK {…}`, `NOT_FOUND workflow not found`; of a step without a call, what it is. */
function outcome(value: unknown): string {
  if (!isRecord(value) || typeof value['code'] !== 'number') return typeof value === 'string' ? value : 'nothing';
  const { code, message, response, details } = value;
  return code === status.OK ? `OK ${JSON.stringify(response ?? {})}` : `${status[code] ?? code} ${String(message)}${ofOperations(details)}`;
}

/** What is said of each of several operations. */
function ofOperations(details: unknown): string {
  const [detail] = Array.isArray(details) ? details : [];
  const statuses: unknown = isRecord(detail) ? detail['statuses'] : undefined;
  return Array.isArray(statuses) ? statuses.map((each) => ` [${isRecord(each) ? JSON.stringify(each['message']) : ''}]`).join('') : '';
}

/** A missing field is `undefined`. */
function inFields(ours: unknown, theirs: unknown, path: string): readonly Difference[] {
  if (Object.is(ours, theirs)) return [];
  if (isRecord(ours) && isRecord(theirs)) {
    const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    return [...names].flatMap((name) => inFields(ours[name], theirs[name], path === '' ? name : `${path}.${name}`));
  }
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length)
    return ours.flatMap((item, index) => inFields(item, theirs[index], `${path}[${index}]`));
  return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ path, ours, theirs }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
