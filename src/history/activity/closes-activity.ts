import type { HistoryEvent } from '../events.ts';

export type ActivityClose = Extract<
  HistoryEvent,
  { readonly type: 'activityTaskCompleted' | 'activityTaskFailed' | 'activityTaskTimedOut' | 'activityTaskCanceled' }
>;

export function closesActivity(event: HistoryEvent): event is ActivityClose {
  switch (event.type) {
    case 'activityTaskCompleted':
    case 'activityTaskFailed':
    case 'activityTaskTimedOut':
    case 'activityTaskCanceled':
      return true;
    default:
      return false;
  }
}
