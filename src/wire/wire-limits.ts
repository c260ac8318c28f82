import { durationMsMax } from '../kernel/duration.ts';

/** Bytes are bounded by whoever hands them over; these bound what they are made into: two bytes make an object of some hundred. */
export type WireLimits = {
  /** Messages inside messages, the outermost counted as 1. */
  readonly nestingDepthMax: number;
  /** Elements of one repeated field or map. */
  readonly repeatedElementsMax: number;
  /** Nested messages of one decoded message. */
  readonly nestedMessagesMax: number;
  /** A duration beyond it, in either direction, reads as this. */
  readonly durationMsMax: number;
};

/** For what strangers send: the default of every decoder. One tenant's objects take the time and the memory of all. */
export const requestLimits: WireLimits = { nestingDepthMax: 80, repeatedElementsMax: 10_000, nestedMessagesMax: 50_000, durationMsMax };

/**
 * For what we wrote ourselves, and what the core reads of accepted messages. The writer has no limit but the size of the whole record, so neither
 * has the reader: a committed record that cannot be read would stop its partition for ever. Our own schemas bound the depth.
 */
export const ownLimits: WireLimits = {
  nestingDepthMax: 100,
  repeatedElementsMax: Infinity,
  nestedMessagesMax: Infinity,
  durationMsMax: Number.MAX_SAFE_INTEGER,
};
