import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';

/** Short readings of wire fields. */

type Duration = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined;

export function millisOf(duration: Duration): number {
  return Number(duration?.seconds ?? 0) * 1000 + (duration?.nanos ?? 0) / 1e6;
}

/** The JSON values of payloads. */
export function valuesOf(payloads: temporal.api.common.v1.IPayloads | null | undefined): readonly unknown[] {
  return (payloads?.payloads ?? []).map(valueOf);
}

export function valueOf(payload: temporal.api.common.v1.IPayload | null | undefined): unknown {
  const text = new TextDecoder().decode(payload?.data ?? undefined);
  return text === '' ? undefined : JSON.parse(text);
}

export function payloadOf(value: unknown): temporal.api.common.v1.IPayload {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  return { metadata: { encoding: bytes('json/plain') }, data: bytes(JSON.stringify(value)) };
}

/** Event ids are 64-bit on the wire, small here. */
export function numbersOf(...ids: readonly unknown[]): readonly number[] {
  return ids.map(Number);
}

export const enums = proto.temporal.api.enums.v1;
