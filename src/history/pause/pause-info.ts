/** `TemporalPauseInfo`: by what List finds workflows that are paused, or have activities that are. */
import { activityType } from '../activity/activity-options.ts';
import type { RunDraft } from '../draft.ts';
import type { RunView } from '../state.ts';
import { pauseInfo } from './evolve-pause.ts';

/** To be called once all is written that a command pauses or lets go on. */
export function notePauseInfo(run: RunDraft): void {
  const entries = entriesOf(run.run);
  const { wire } = run.draft;
  const { searchAttributes } = run.run;
  const payload = searchAttributes === undefined ? undefined : wire.fieldOf(searchAttributes, pauseInfo);
  const before = payload === undefined ? '[]' : wire.payloadValue(payload).text;
  if (before !== JSON.stringify(entries)) run.addFact({ kind: 'pauseInfoChanged', entries });
}

function entriesOf({ key, pause, activities }: RunView): readonly string[] {
  const entries = new Set<string>();
  if (pause !== undefined) {
    entries.add(`Workflow:${key.workflowId}`);
    if (pause.reason !== '') entries.add(`Reason:${pause.reason}`);
  }
  for (const activity of activities.values()) {
    if (activity.operations?.pause !== undefined) entries.add(`property:activityType=${activityType(activity)}`);
  }
  return [...entries];
}
