/** What events do to the pending timers of a workflow. */
import { unreachable } from '../../kernel/assert.ts';
import type { HistoryEvent } from '../events.ts';
import type { Run } from '../state.ts';

type TimerEvent = Extract<HistoryEvent, { readonly type: `timer${string}` }>;

export function evolveTimer(run: Run, event: TimerEvent): void {
  switch (event.type) {
    case 'timerStarted':
      run.timers.set(event.attributes.timerId, {
        timerId: event.attributes.timerId,
        startedEventId: event.eventId,
        fireTimeMs: event.eventTimeMs + event.attributes.startToFireTimeoutMs,
        taskId: 0,
      });
      return;
    case 'timerFired':
    case 'timerCanceled': {
      const { timerId, startedEventId } = event.attributes;
      if (run.timers.get(timerId)?.startedEventId === startedEventId) run.timers.delete(timerId);
      return;
    }
    default:
      return unreachable(event);
  }
}
