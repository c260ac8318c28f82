/**
 * I25, of the whole journal of a shard: the record that ends a run begins the one that follows it, and each names the other; a reset is named by its base
 * in the very record that makes it. So no crash comes between the two sides, and no run is followed twice.
 */
import type { HistoryEvent } from '../../../src/history/run/events.ts';
import { continueAsNewInitiator } from '../../../src/history/generated/enums.ts';
import type { HistoryRecord, RunChange } from '../../../src/history/run/record.ts';
import { check } from '../oracle.ts';

type Begun = Extract<HistoryEvent, { readonly type: 'workflowExecutionStarted' }>['attributes'];

/** Answers how many runs follow another. */
export function checkRunChains(records: readonly HistoryRecord[]): number {
  const begun = new Map<string, Begun>();
  let followers = 0;
  for (const { runs } of records) {
    for (const change of runs) {
      const attributes = begunIn(change);
      if (attributes !== undefined) begun.set(change.runId, attributes);
    }
    const changes = new Map(runs.map((change) => [change.runId, change]));
    for (const change of runs) {
      const next = nextOf(change);
      if (next !== '') checkFollower(change.runId, next, changes.get(next), begun);
      checkMade(change, changes);
      if (isFollower(change)) followers += 1;
    }
  }
  return followers;
}

/** What a reset has copied is no beginning of its own. */
function isFollower(change: RunChange): boolean {
  return basesOf(change) === undefined && (begunIn(change)?.continuedExecutionRunId ?? '') !== '';
}

function checkFollower(runId: string, next: string, change: RunChange | undefined, begun: ReadonlyMap<string, Begun>): void {
  const [before, after] = [begun.get(runId), change === undefined ? undefined : begunIn(change)];
  const names = after?.continuedExecutionRunId;
  check(names === runId, 'I25 a run that nobody begins', () => `${runId} goes on as ${next}, which continues ${names}`);
  const first = [before?.firstExecutionRunId, after?.firstExecutionRunId];
  check(first[0] === first[1], 'I25 another chain', () => `${runId} and ${next} began with ${first.join(' and ')}`);
  const attempt = after?.initiator === continueAsNewInitiator.retry ? (before?.attempt ?? 0) + 1 : 1;
  check(after?.attempt === attempt, 'I25 attempts', () => `${next} is attempt ${after?.attempt} behind ${before?.attempt} of ${runId}`);
}

function checkMade(change: RunChange, changes: ReadonlyMap<string, RunChange>): void {
  const { runId, facts } = change;
  const base = basesOf(change)?.at(-1)?.runId;
  const continued = begunIn(change)?.continuedExecutionRunId ?? '';
  if (base === undefined) {
    const named = changes.get(continued);
    const isNamed = continued === '' || (named !== undefined && nextOf(named) === runId);
    check(isNamed, 'I25 a run that nobody asked for', () => `${runId} continues ${continued}, which does not end with it`);
    return;
  }
  const named = changes.get(base)?.facts.some(({ fact }) => fact.kind === 'runResetTo' && fact.runId === runId);
  check(named === true, 'I25 a reset that its base does not know', () => `${runId} is made of ${base}: ${facts.length} facts`);
}

function basesOf({ facts }: RunChange) {
  for (const { fact } of facts) if (fact.kind === 'runReset') return fact.bases;
  return undefined;
}

function begunIn({ events }: RunChange): Begun | undefined {
  for (const { event } of events) if (event.type === 'workflowExecutionStarted') return event.attributes;
  return undefined;
}

function nextOf({ events }: RunChange): string {
  const last = events.at(-1)?.event;
  return last !== undefined && 'newExecutionRunId' in last.attributes ? last.attributes.newExecutionRunId : '';
}
