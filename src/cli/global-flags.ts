/** Every command accepts these, before or after its words. A command's own flag of the same name takes precedence. */
import { alternatives } from './cli-error.ts';
import type { Flag } from './command.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'never'];

export const outputFlag: Flag = { name: 'output', short: 'o', value: 'FORMAT', help: 'json, jsonl, text or none' };
export const textOutputFlag: Flag = { ...outputFlag, defaultText: 'text' };

export const timeFormatFlag: Flag = {
  name: 'time-format',
  value: 'FORMAT',
  choices: ['relative', 'iso', 'raw'],
  help: 'Times in text: relative, iso or raw (milliseconds since 1970)',
  defaultText: 'relative',
};

export const globalFlags: readonly Flag[] = [
  outputFlag,
  timeFormatFlag,
  {
    name: 'color',
    value: 'WHEN',
    choices: ['always', 'never', 'auto'],
    help: 'always, never or auto; has no effect, because output has no colours',
    defaultText: 'auto',
  },
  { name: 'log-level', value: 'LEVEL', choices: logLevels, help: alternatives(logLevels) },
  { name: 'log-format', value: 'FORMAT', choices: ['text', 'json', 'pretty'], help: 'text or json' },
  { name: 'command-timeout', value: 'DURATION', help: 'Time limit of the whole command; 0 means none', defaultText: '0' },
  { name: 'client-connect-timeout', value: 'DURATION', help: 'Time limit for connecting', defaultText: '10s' },
  { name: 'no-json-shorthand-payloads', help: 'Accepted for compatibility; payloads are never shortened' },
  { name: 'profile', value: 'NAME', help: 'Profile to use, from the profiles file', defaultText: 'default', env: 'TEMPORAL_PROFILE' },
  {
    name: 'config-file',
    value: 'FILE',
    help: 'Profiles file (TOML)',
    defaultText: 'temporalio/temporal.toml in the configuration folder',
    env: 'TEMPORAL_CONFIG_FILE',
  },
  { name: 'disable-config-file', help: 'Do not read the profiles file' },
  { name: 'disable-config-env', help: 'Ignore environment variables about the connection' },
  { name: 'quiet', help: 'Show no progress on the terminal' },
  { name: 'yes', short: 'y', help: 'Ask no questions' },
];
