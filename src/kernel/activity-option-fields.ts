import { type WordOf, words } from './words.ts';

/** What operators may change of an activity, as a field mask names it in its JSON form. */
export const activityOptionFields = words(
  'taskQueue.name scheduleToCloseTimeout scheduleToStartTimeout startToCloseTimeout heartbeatTimeout',
  'retryPolicy retryPolicy.initialInterval retryPolicy.backoffCoefficient retryPolicy.maximumInterval retryPolicy.maximumAttempts',
  'retryPolicy.nonRetryableErrorTypes',
  'priority priority.priorityKey priority.fairnessKey priority.fairnessWeight',
);

export type ActivityOptionField = WordOf<typeof activityOptionFields>;
