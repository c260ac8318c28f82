/** How what deleted namespaces hold is purged, by the names that Temporal's dynamic configuration has for that, and one of our own. */
import { durationSetting, wholeNumber } from './dynamic-setting.ts';

export const namespaceDeletionSettings = {
  graceMs: durationSetting('perdure.deleteNamespace.graceTime', {
    min: '0s',
    max: '30d',
    default: 15_000,
    about: 'From the deletion of a namespace to the purge of its workflows: what is due in it until then becomes dead letters.',
  }),
  deleteDelayMs: durationSetting('frontend.deleteNamespaceNamespaceDeleteDelay', {
    min: '0s',
    max: '3650d',
    default: 0,
    about: 'How long a deleted namespace is shown once it is purged, where DeleteNamespace does not say it.',
  }),
};

/** Of the purge, at any time. */
export const namespacePurgeSettings = {
  perSecondOfEach: wholeNumber('frontend.deleteNamespaceDeleteActivityRPS', {
    min: 1,
    max: 100_000,
    default: 100,
    about: 'Workflows of deleted namespaces that are deleted a second, times the number of those that are deleted at a time.',
  }),
  concurrencyMax: wholeNumber('frontend.deleteNamespaceConcurrentDeleteExecutionsActivities', {
    min: 1,
    max: 256,
    default: 4,
    about: 'Workflows of deleted namespaces that are deleted at a time, of all namespaces together.',
  }),
};
