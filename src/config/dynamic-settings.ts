/** Every key of the dynamic configuration that this server uses. */
import { adminSettings } from './admin-settings.ts';
import { archivalSettings } from './archival-settings.ts';
import { batchSettings } from './batch-settings.ts';
import { captureSettings, deadLetterSettingsWithoutEffect, letterSettings } from './dead-letter-settings.ts';
import type { DynamicEntries, Entry } from './dynamic-config.ts';
import type { Setting } from './dynamic-setting.ts';
import { callbackRequestSettings, callbackRetrySettings, callbackSettings } from './callback-settings.ts';
import { limitSettings } from './limit-settings.ts';
import { namespaceDeletionSettings, namespacePurgeSettings } from './namespace-deletion-settings.ts';
import { namespaceLimitSettings } from './namespace-limit-settings.ts';
import { transportSettings } from './transport-settings.ts';
import { workerHeartbeatSettings, workerSettings } from './worker-settings.ts';

export const dynamicSettings: readonly Setting<unknown>[] = [
  limitSettings,
  captureSettings,
  letterSettings,
  deadLetterSettingsWithoutEffect,
  archivalSettings,
  callbackSettings,
  callbackRequestSettings,
  callbackRetrySettings,
  adminSettings,
  namespaceLimitSettings,
  transportSettings,
  workerSettings,
  workerHeartbeatSettings,
  batchSettings,
  namespaceDeletionSettings,
  namespacePurgeSettings,
].flatMap((group) => Object.values<Setting<unknown>>(group));

const byKey = new Map(dynamicSettings.map((setting) => [setting.key.toLowerCase(), setting]));

/** Finds a setting as Temporal reads keys, whatever their case. */
export function findSetting(key: string): Setting<unknown> | undefined {
  return byKey.get(key.toLowerCase());
}

/** Values without constraints. `problems`: of those that are not used, or not as they are; a key that is not known is none. */
export function constantEntries(values: ReadonlyMap<string, unknown>): {
  readonly entries: DynamicEntries;
  readonly problems: readonly { readonly key: string; readonly message: string }[];
} {
  const entries = new Map<string, readonly Entry[]>();
  const problems: { key: string; message: string }[] = [];
  for (const [key, value] of values) {
    const read = findSetting(key)?.read(value);
    if (read === undefined) continue;
    if ('problem' in read) problems.push({ key, message: notUsed(read.problem) });
    else entries.set(key.toLowerCase(), [{ value, constraints: {} }]);
    if ('note' in read && read.note !== undefined) problems.push({ key, message: read.note });
  }
  return { entries, problems };
}

export function notUsed(problem: string): string {
  return `this value is not used: ${problem}`;
}
