/** The visibility row of a run. Total, like the values of its attributes (src/projections/visibility/attribute-value.ts). */
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { RunSummary } from '../../history/run/summary.ts';
import type { SearchAttributeWire } from '../../kernel/search-attributes.ts';
import { attributeValue, columnText } from '../visibility/attribute-value.ts';
import { attributeColumn, type CustomAttributes } from '../visibility/columns.ts';
import { OPEN_SORT_MS, type SlotValue, type VisibilityRow } from '../visibility/row.ts';

/** What search attributes mean, as far as this process knows. */
export type AttributeRegistry = Pick<ClusterSnapshot, 'namespaceById'>;

const noSlots: ReadonlyMap<string, SlotValue> = new Map();
const noneDefined: CustomAttributes = { types: new Map(), slots: new Map() };

export function visibilityRow(run: RunSummary, shard: number, registry: AttributeRegistry, wire: SearchAttributeWire): VisibilityRow {
  const { key, start, status, closeTimeMs, memo, searchAttributes } = run;
  const isOpen = closeTimeMs === undefined;
  return {
    namespaceId: key.namespaceId,
    runId: key.runId,
    shard,
    workflowId: columnText(key.workflowId),
    workflowType: columnText(start.workflowType),
    taskQueue: columnText(start.taskQueue.name),
    status,
    startTimeMs: start.startTimeMs,
    // A start may be delayed beyond all calendars.
    executionTimeMs: Math.min(start.executionTimeMs, OPEN_SORT_MS),
    closeTimeMs,
    executionDurationMs: isOpen ? undefined : closeTimeMs - start.executionTimeMs,
    historyLength: isOpen ? undefined : run.historyLength,
    historySizeBytes: isOpen ? undefined : run.historySizeBytes,
    stateTransitionCount: isOpen ? undefined : run.stateTransitionCount,
    parentWorkflowId: columnText(start.parent?.workflowId ?? ''),
    parentRunId: columnText(start.parent?.runId ?? ''),
    rootWorkflowId: columnText(start.root.workflowId),
    rootRunId: columnText(start.root.runId),
    memo,
    searchAttributes,
    slots: searchAttributes === undefined ? noSlots : slotsOf(key.namespaceId, searchAttributes, registry, wire),
    version: run.stateTransitionCount,
  };
}

/** Attributes that the namespace does not define (any more) have no column; and none has what was set for another of its name. */
function slotsOf(
  namespaceId: string,
  searchAttributes: Uint8Array,
  registry: AttributeRegistry,
  wire: SearchAttributeWire,
): ReadonlyMap<string, SlotValue> {
  const namespace = registry.namespaceById(namespaceId);
  const custom = namespace === undefined ? noneDefined : { types: namespace.searchAttributeTypes, slots: namespace.searchAttributeSlots };
  const slots = new Map<string, SlotValue>();
  try {
    for (const [name, payload] of wire.decodeFields(searchAttributes)) {
      const column = attributeColumn(custom, name);
      if (column === undefined) continue;
      const stored = wire.payloadValue(payload);
      if (stored.generation !== (namespace?.searchAttributeGenerations.get(name) ?? 0)) continue;
      const value = attributeValue(column.kind, stored);
      if (value !== undefined) slots.set(column.name, value);
    }
  } catch {
    // Not the bytes of a SearchAttributes: nothing that a client could send would be stored so.
    return noSlots;
  }
  return slots;
}
