/** What people who read the topic see of a record about runs: the name of its first event, or fact. */
import { pascalCase } from '../kernel/pascal-case.ts';
import type { EventKind } from './events.ts';
import type { Fact, RunChange } from './record.ts';

export function recordType(runs: readonly RunChange[]): string {
  const event = runs[0]?.events[0];
  if (event !== undefined) return typeNamed(event.event.type);
  const fact = runs[0]?.facts[0];
  return fact === undefined ? 'TasksFinished' : typeNamed(fact.fact.kind);
}

const recordTypes = new Map<EventKind | Fact['kind'], string>();

function typeNamed(kind: EventKind | Fact['kind']): string {
  const known = recordTypes.get(kind);
  if (known !== undefined) return known;
  const type = pascalCase(kind);
  recordTypes.set(kind, type);
  return type;
}
