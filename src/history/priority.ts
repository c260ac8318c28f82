import type { PriorityFields } from '../kernel/priority.ts';
import type { HistoryWire } from './replies.ts';

/** An activity or a child takes from its workflow each part of the priority that it does not set itself. */
export function mergedPriority(workflow: Uint8Array | undefined, own: Uint8Array | undefined): Uint8Array | undefined {
  if (workflow === undefined || own === undefined) return own ?? workflow;
  // Encoded messages behind each other are one message in which the later fields win.
  const merged = new Uint8Array(workflow.length + own.length);
  merged.set(workflow);
  merged.set(own, workflow.length);
  return merged;
}

/** What tells matching of it; where nothing is said there is no such property. */
export function dispatchPriority(wire: HistoryWire, priority: Uint8Array | undefined): { readonly priority?: PriorityFields } {
  if (priority === undefined || priority.length === 0) return {};
  return { priority: wire.decodePriority(priority) };
}
