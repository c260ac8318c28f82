/** Attributes whose values are written otherwise than those of their kind: a status by its name, a duration with its units. */
import { fault } from '../../../filter/fault.ts';
import { milliseconds, whole, type Attribute, type SpecialWritten, type Value } from '../../../filter/values.ts';
import { int64Max, int64Min } from '../../../kernel/int64.ts';
import { words } from '../../../kernel/words.ts';

export const specialValues: ReadonlyMap<string, Pick<Attribute, 'asKind' | 'special'>> = new Map([
  ['ExecutionStatus', { asKind: 'keyword', special: { valueOf: status, nameOf: statusName } }],
  ['ExecutionDuration', { special: { valueOf: duration, nameOf: String } }],
]);

/** `temporal.api.enums.v1.WorkflowExecutionStatus`, from 0. */
const statuses = words('Unspecified Running Completed Failed Canceled Terminated ContinuedAsNew TimedOut Paused').all;
const statusNumbers: ReadonlyMap<string, number> = new Map(
  statuses.flatMap((name, number) => {
    const enumName = `WORKFLOW_EXECUTION_STATUS${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
    return [[name, number] as const, [enumName, number] as const];
  }),
);

export function statusName(number: bigint): string {
  return statuses[Number(number)] ?? String(number);
}

function status(value: SpecialWritten, at: number): Value {
  switch (value.type) {
    case 'int64':
      if (value.value >= 0n && value.value < BigInt(statuses.length)) return whole(value.value);
      throw fault('expression', `invalid ExecutionStatus value ${value.value}`, at, 'the name of a status');
    case 'string': {
      const number = statusNumbers.get(value.value);
      if (number === undefined) throw fault('expression', `invalid ExecutionStatus value '${value.value}'`, at, 'the name of a status');
      return whole(BigInt(number));
    }
    case 'float64':
      throw fault('expression', 'unexpected value type float64 for search attribute ExecutionStatus', at, 'the name of a status');
  }
}

function duration(value: SpecialWritten, at: number): Value {
  switch (value.type) {
    case 'int64':
      return milliseconds(value.value);
    case 'string': {
      const nanoseconds = parseDuration(value.value);
      if (nanoseconds !== undefined) return milliseconds(nanoseconds);
      const words = `invalid duration value for search attribute ExecutionDuration: ${value.value}`;
      throw fault('expression', words, at, "a duration ('1h30m')");
    }
    case 'float64':
      throw fault('expression', 'unexpected value type float64 for search attribute ExecutionDuration', at, "a duration ('1h30m')");
  }
}

const unitNanoseconds: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
  ['d', 86_400_000_000_000n],
]);
const durationPart = /(\d*)(?:\.(\d*))?([a-zµμ]+)/y;
/** More than int64 has. A longer fraction is cut; a longer whole part is none. */
const digitsMax = 20;

/** `90000000000` in nanoseconds, `1h30m`, `1.5d` or `01:30:00`. */
function parseDuration(text: string): bigint | undefined {
  const isNumber = /^[+-]?\d+$/.test(text) && text.length <= digitsMax;
  const nanoseconds = isNumber ? BigInt(text.replace('+', '')) : (parseUnits(text) ?? parseClock(text));
  return nanoseconds !== undefined && nanoseconds >= int64Min && nanoseconds <= int64Max ? nanoseconds : undefined;
}

function parseUnits(text: string): bigint | undefined {
  const parts = text.replace(/^[+-]/, '');
  let nanoseconds = 0n;
  for (let at = 0; at < parts.length || at === 0; at = durationPart.lastIndex) {
    durationPart.lastIndex = at;
    const [, digits = '', fraction = '', unit = ''] = durationPart.exec(parts) ?? [];
    const scale = unitNanoseconds.get(unit);
    if (scale === undefined || digits + fraction === '' || digits.length > digitsMax) return undefined;
    const cut = fraction.slice(0, digitsMax);
    nanoseconds += BigInt(digits) * scale + (BigInt(cut) * scale) / 10n ** BigInt(cut.length);
    if (nanoseconds > int64Max) return undefined;
  }
  return text.startsWith('-') ? -nanoseconds : nanoseconds;
}

function parseClock(text: string): bigint | undefined {
  const [, hours = '', minutes = '', seconds = ''] = /^ *\+?(\d{1,9}): *\+?(\d{1,9}): *\+?(\d{1,9})/.exec(text) ?? [];
  if (hours === '' || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return (BigInt(hours) * 3_600n + BigInt(minutes) * 60n + BigInt(seconds)) * 1_000_000_000n;
}
