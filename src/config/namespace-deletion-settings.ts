/** How what deleted namespaces hold is purged, by the names that Temporal's dynamic configuration has for that, and one of our own. */
import { durationSetting, wholeNumber } from './dynamic-setting.ts';

export const namespaceDeletionSettings = {
  graceMs: durationSetting('perdure.deleteNamespace.graceTime', {
    range: ['0s', '30d'],
    default: 15_000,
    about: 'Time from the deletion of a namespace to the purge of its workflows. Tasks that are due in between become dead letters.',
  }),
  deleteDelayMs: durationSetting('frontend.deleteNamespaceNamespaceDeleteDelay', {
    range: ['0s', '3650d'],
    default: 0,
    about: 'How long a deleted namespace is still shown after its purge, unless DeleteNamespace sets another time.',
  }),
};

export const namespacePurgeSettings = {
  perSecondOfEach: wholeNumber('frontend.deleteNamespaceDeleteActivityRPS', {
    range: [1, 100_000],
    default: 100,
    about: 'Workflows of deleted namespaces that each concurrent deletion deletes per second.',
  }),
  concurrencyMax: wholeNumber('frontend.deleteNamespaceConcurrentDeleteExecutionsActivities', {
    range: [1, 256],
    default: 4,
    about: 'Concurrent deletions of workflows of deleted namespaces, over all namespaces.',
  }),
};
