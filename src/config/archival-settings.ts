/** What operators set about archival, by the names of Temporal's dynamic configuration. */
import { durationSetting } from './dynamic-setting.ts';

export const archivalSettings = {
  archiveDelayMsMax: durationSetting('history.archivalProcessorArchiveDelay', {
    min: '1ms',
    max: '24h',
    default: 300_000,
    about:
      'Histories of workflows that close together are archived within so long, and before their retention is over. As it was at the start.',
  }),
};
