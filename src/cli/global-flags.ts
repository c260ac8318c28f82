/** Every command accepts these, before or after its words. A command's own flag of the same name takes precedence. */
import { alternatives } from './cli-error.ts';
import { type Flag, flag, toggle } from './command.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'never'];

export const outputFlag = flag('output', 'FORMAT', 'json, jsonl, text or none', { short: 'o' });
export const textOutputFlag: Flag = { ...outputFlag, defaultText: 'text' };

export const timeFormatFlag = flag('time-format', 'FORMAT', 'Times in text: relative, iso or raw (milliseconds since 1970)', {
  choices: ['relative', 'iso', 'raw'],
  defaultText: 'relative',
});

export const globalFlags: readonly Flag[] = [
  outputFlag,
  timeFormatFlag,
  flag('color', 'WHEN', 'always, never or auto; has no effect, because output has no colours', {
    choices: ['always', 'never', 'auto'],
    defaultText: 'auto',
  }),
  flag('log-level', 'LEVEL', alternatives(logLevels), { choices: logLevels }),
  flag('log-format', 'FORMAT', 'text or json', { choices: ['text', 'json', 'pretty'] }),
  flag('command-timeout', 'DURATION', 'Time limit of the whole command; 0 means none', { defaultText: '0' }),
  flag('client-connect-timeout', 'DURATION', 'Time limit for connecting', { defaultText: '10s' }),
  toggle('no-json-shorthand-payloads', 'Accepted for compatibility; payloads are never shortened'),
  flag('profile', 'NAME', 'Profile to use, from the profiles file', { defaultText: 'default', env: 'TEMPORAL_PROFILE' }),
  flag('config-file', 'FILE', 'Profiles file (TOML)', {
    defaultText: 'temporalio/temporal.toml in the configuration folder',
    env: 'TEMPORAL_CONFIG_FILE',
  }),
  toggle('disable-config-file', 'Do not read the profiles file'),
  toggle('disable-config-env', 'Ignore environment variables about the connection'),
  toggle('quiet', 'Show no progress on the terminal'),
  toggle('yes', 'Ask no questions', { short: 'y' }),
];
