/** What the server keeps of a schedule in its memo and search attributes, apart from what its clients have set there. */
import { decodeFields, encodeFields } from '../../wire/fields.ts';
import { decodePayload } from '../../wire/generated/lean/common.ts';
import { decodeScheduleListInfo, type ScheduleListInfo } from '../../wire/generated/lean/schedule.ts';
import { listInfoField } from '../../wire/schedule-info.ts';
import { ownLimits } from '../../wire/wire-limits.ts';

const ownAttributes: ReadonlySet<string> = new Set(['TemporalSchedulePaused', 'TemporalNamespaceDivision']);

/** undefined: nothing is left. */
export function withoutScheduleAttributes(attributes: Uint8Array | undefined): Uint8Array | undefined {
  return without(attributes, (name) => ownAttributes.has(name));
}

export function withoutListInfo(memo: Uint8Array | undefined): Uint8Array | undefined {
  return without(memo, (name) => name === listInfoField);
}

function without(fields: Uint8Array | undefined, isOwn: (name: string) => boolean): Uint8Array | undefined {
  const left = Array.from(fields === undefined ? [] : decodeFields(fields)).filter(([name]) => !isOwn(name));
  return left.length === 0 ? undefined : encodeFields(new Map(left));
}

/** undefined: the row is damaged, or tells of none. */
export function listInfoOf(memo: Uint8Array | undefined): ScheduleListInfo | undefined {
  const payload = memo === undefined ? undefined : decodeFields(memo).get(listInfoField);
  return payload && decodeScheduleListInfo(decodePayload(payload, ownLimits).data, ownLimits);
}
