/** The query of a batch job, as a condition on rows. */
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { Condition } from '../../filter/condition.ts';
import { parseQuery } from '../../visibility/filter/parse-query.ts';
import { systemColumns } from '../../visibility/columns.ts';
import { queryAttributes } from '../../visibility/query-attributes.ts';
import { WorkflowExecutionStatus } from '../../wire/generated/lean/enums.ts';

export type BatchQuery = { readonly kind: 'query'; readonly condition: Condition } | { readonly kind: 'invalid'; readonly message: string };

export function batchQuery(text: string, namespace: Namespace, forOpenOnes: boolean): BatchQuery {
  const attributes = queryAttributes({ types: namespace.searchAttributeTypes, slots: namespace.searchAttributeSlots });
  const parsed = parseQuery(text, attributes);
  if (parsed.kind === 'invalid') return { kind: 'invalid', message: withoutPrefix(parsed.message) };
  if (parsed.byStatus) return { kind: 'invalid', message: `'GROUP BY' clause is not supported` };
  const asked = parsed.condition === undefined ? [] : [parsed.condition];
  return { kind: 'query', condition: { kind: 'and', conditions: forOpenOnes ? [...asked, open] : asked } };
}

/** Where a job begins, Temporal says no more than its parser does, to which it gives one character less in front of the query. */
function withoutPrefix(message: string): string {
  const plain = message.replace(/^invalid query: (malformed SQL query: )?/, '');
  return plain.replace(/(?<=^syntax error at position )\d+/, (position) => String(Number(position) - 1));
}

const status = systemColumns.get('ExecutionStatus');

const open: Condition = {
  kind: 'or',
  conditions:
    status === undefined
      ? []
      : [WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.PAUSED].map((operand) => ({
          kind: 'compare',
          column: status,
          operator: '=',
          operand,
        })),
};
