/** Queries of schedules: rows like workflows, in a division of their own. What they may be asked for is less, and the texts are Temporal's. */
import type { Attributes } from '../../../filter/checker.ts';
import type { Condition, Operand } from '../../../filter/condition.ts';
import { keptAs } from '../../../schedules/schedule-id.ts';
import { builtInColumn, columnNamed } from '../columns.ts';

/** Thrown where a query names it. */
export class NotOfSchedules extends Error {
  override readonly name = 'NotOfSchedules';

  constructor(name: string) {
    super(`invalid query filter for schedules: cannot filter on "${name}"`);
  }
}

/** Their ids, whether they are paused, and what users have set on them. */
export function scheduleAttributes(attributes: Attributes): Attributes {
  return (name) => {
    const found = attributes(name);
    if (found === undefined || name === 'ScheduleId' || builtInColumn(found.column.name) === undefined || found.column === paused)
      return found;
    throw new NotOfSchedules(name);
  };
}

/** What is said of ids, of the ids that their rows have. */
export function openSchedules(asked: Condition | undefined): Condition {
  const open: Condition[] = [
    { kind: 'compare', column: division, operator: '=', operand: 'TemporalScheduler' },
    { kind: 'compare', column: status, operator: '=', operand: running },
  ];
  return { kind: 'and', conditions: asked === undefined ? open : [...open, withRowIds(asked)] };
}

function withRowIds(condition: Condition): Condition {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return { ...condition, conditions: condition.conditions.map(withRowIds) };
    case 'not':
      return { ...condition, condition: withRowIds(condition.condition) };
    default:
      return condition.column === rowId ? ofRowIds(condition) : condition;
  }
}

type OfColumn = Exclude<Condition, { readonly kind: 'and' | 'or' | 'not' }>;

function ofRowIds(condition: OfColumn): Condition {
  switch (condition.kind) {
    case 'compare':
      return { ...condition, operand: keptAsOperand(condition.operand) };
    case 'in':
      return { ...condition, operands: condition.operands.map(keptAsOperand) };
    case 'between':
      return { ...condition, low: keptAsOperand(condition.low), high: keptAsOperand(condition.high) };
    case 'startsWith':
      return { ...condition, prefix: keptAs(condition.prefix) };
    case 'isNull':
      return condition;
  }
}

function keptAsOperand(operand: Operand): Operand {
  return keptAs(String(operand));
}

const running = 1;
const paused = columnNamed('TemporalSchedulePaused');
const division = columnNamed('TemporalNamespaceDivision');
const status = columnNamed('ExecutionStatus');
const rowId = columnNamed('WorkflowId');
