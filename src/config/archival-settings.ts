/** What operators set about archival, by the names of Temporal's dynamic configuration. */
import { durationSetting } from './dynamic-setting.ts';

export const archivalSettings = {
  archiveDelayMsMax: durationSetting('history.archivalProcessorArchiveDelay', {
    range: ['1ms', '24h'],
    default: 300_000,
    about:
      'Time over which the archival of workflows that close together is spread, at most until their retention is over. Read at the start.',
  }),
};
