/** `TemporalPauseInfo`: by what List finds workflows that are paused, or have activities that are. */
import { utf8Bytes } from '../../kernel/utf8.ts';
import { activityType } from '../run/activity-options.ts';
import type { RunDraft } from '../draft/draft.ts';
import type { RunView } from '../run/state.ts';
import { pauseInfo } from '../evolve/evolve-fact.ts';

/** Called once all is written that a command pauses or lets go on. */
export function notePauseInfo(run: RunDraft): void {
  const entries = entriesOf(run.run, run.draft.limits.pauseInfoBytesMax);
  const { wire } = run.draft;
  const { searchAttributes } = run.run;
  const payload = searchAttributes === undefined ? undefined : wire.fieldOf(searchAttributes, pauseInfo);
  const before = payload === undefined ? '[]' : wire.payloadValue(payload).text;
  if (before !== JSON.stringify(entries)) run.addFact({ kind: 'pauseInfoChanged', entries });
}

/** Names the types that come first, where there are more than it has room for. */
function entriesOf({ key, pause, activities }: RunView, bytesMax: number): readonly string[] {
  const entries = new Set<string>();
  if (pause !== undefined) {
    entries.add(`Workflow:${key.workflowId}`);
    if (pause.reason !== '') entries.add(`Reason:${pause.reason}`);
  }
  let bytes = 0;
  for (const entry of entries) bytes += utf8Bytes(entry);
  for (const activity of activities.values()) {
    if (activity.operations?.pause === undefined) continue;
    const entry = `property:activityType=${activityType(activity)}`;
    if (entries.has(entry)) continue;
    bytes += utf8Bytes(entry);
    if (bytes > bytesMax) break;
    entries.add(entry);
  }
  return [...entries];
}
