/**
 * Messages of MatchingService and AdminService, as protobufjs classes. Their module is megabytes of code that no worker needs: it is read
 * when the first such call arrives, so that starting the server does not pay for it.
 *
 * Types alone cost nothing: `import type { temporal } from './generated/services.js'`.
 */
import Long from 'long';
import type { google, temporal } from './generated/services.js';

export type ServiceMessages = typeof temporal.server.api;

/** Messages of the public API, as far as the services' messages hold them. */
export type PublicMessages = typeof temporal.api;

export type WellKnownMessages = typeof google.protobuf;

type Loaded = { readonly temporal: typeof temporal; readonly google: typeof google };

let loading: Promise<Loaded> | undefined;

export async function loadServiceMessages(): Promise<ServiceMessages> {
  return (await load()).temporal.server.api;
}

export async function loadPublicMessages(): Promise<PublicMessages> {
  return (await load()).temporal.api;
}

export async function loadWellKnownMessages(): Promise<WellKnownMessages> {
  return (await load()).google.protobuf;
}

function load(): Promise<Loaded> {
  loading ??= import('./generated/services.js');
  return loading;
}

// Their numbers of 64 bits are objects, their times messages.

export function int64(value: number | bigint): Long {
  return typeof value === 'number' ? Long.fromNumber(value) : Long.fromString(String(value));
}

type Parts = { readonly seconds: Long; readonly nanos: number };

/** A timestamp or a duration as a message; 0 = not set. */
export function timestamp(ms: number): Parts | null {
  if (ms === 0) return null;
  const seconds = Math.floor(ms / 1_000);
  return { seconds: Long.fromNumber(seconds), nanos: Math.round((ms - seconds * 1_000) * 1e6) };
}

/** Milliseconds of a timestamp or a duration; 0 = not set. */
export function timestampMs(parts: { readonly seconds?: Long | null; readonly nanos?: number | null } | null | undefined): number {
  if (parts === null || parts === undefined) return 0;
  return (parts.seconds?.toNumber() ?? 0) * 1_000 + (parts.nanos ?? 0) / 1e6;
}
