/**
 * The events of a workflow's history, as the core makes and reads them. Attributes have the very shape of the wire's lean messages
 * (camelCase, milliseconds, opaque parts as bytes), so that the edge encodes them without a copy; the core itself knows no codec.
 *
 *   { type: 'activityTaskScheduled', eventId: 5, …, attributes: { activityId: 'a', … } }
 *
 * Both are generated from the public API, for every kind whose attributes scripts/generate/hot-messages.ts lists.
 */
import type { AttributesOf } from '../generated/public-api.ts';

export type EventKind = keyof AttributesOf;

export type EventOf<Kind extends EventKind> = {
  readonly type: Kind;
  /** 0 while the event is buffered. */
  readonly eventId: number;
  readonly eventTimeMs: number;
  /** Failover version; 0 as for every namespace of one cluster. */
  readonly version: number;
  readonly taskId: number;
  readonly workerMayIgnore: boolean;
  readonly userMetadata: Uint8Array | undefined;
  readonly links: readonly Uint8Array[];
  readonly eventGroupMarkers: readonly Uint8Array[];
  readonly attributes: AttributesOf[Kind];
};

export type HistoryEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];

/** An event with the bytes that journal, cache and poll answers share. */
export type RecordedEvent = { readonly event: HistoryEvent; readonly bytes: Uint8Array };
