/** What a filter of dead letters may name. Texts that are not known of a letter, and numbers and times, are NULL. */
import type { Column, ColumnKind } from '../../filter/condition.ts';

const field = (name: string, kind: ColumnKind): readonly [string, Column] => [name, { name, kind }];

export const letterFields: ReadonlyMap<string, Column> = new Map([
  field('MessageId', 'int'),
  field('TaskId', 'int'),
  field('TaskType', 'keyword'),
  field('ShardId', 'int'),
  field('Namespace', 'keyword'),
  field('WorkflowId', 'keyword'),
  field('WorkflowType', 'keyword'),
  field('RunId', 'keyword'),
  field('Cause', 'keyword'),
  field('Disposition', 'keyword'),
  field('ErrorType', 'keyword'),
  field('ErrorMessage', 'keyword'),
  field('Fingerprint', 'keyword'),
  field('Attempts', 'int'),
  field('Generation', 'int'),
  field('State', 'keyword'),
  field('DeadLetterTime', 'datetime'),
  field('FirstFailureTime', 'datetime'),
  field('SourceCluster', 'keyword'),
  field('Build', 'keyword'),
]);
