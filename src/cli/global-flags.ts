/** What every command takes, before its words or behind them. A command that has a flag of that name means its own. */
import type { Flag } from './command.ts';

export const globalFlags: readonly Flag[] = [
  { name: 'output', short: 'o', value: 'FORMAT', help: 'json, jsonl, text or none' },
  {
    name: 'time-format',
    value: 'FORMAT',
    choices: ['relative', 'iso', 'raw'],
    help: 'Times in text: relative, iso or raw (milliseconds since 1970)',
    defaultText: 'relative',
  },
  {
    name: 'color',
    value: 'WHEN',
    choices: ['always', 'never', 'auto'],
    help: 'always, never or auto; nothing is printed in colour so far',
    defaultText: 'auto',
  },
  { name: 'log-level', value: 'LEVEL', choices: ['debug', 'info', 'warn', 'error', 'never'], help: 'debug, info, warn, error or never' },
  { name: 'log-format', value: 'FORMAT', choices: ['text', 'json', 'pretty'], help: 'text or json' },
  { name: 'command-timeout', value: 'DURATION', help: 'Time limit of the whole command; 0 means none', defaultText: '0' },
  { name: 'client-connect-timeout', value: 'DURATION', help: 'Time limit for connecting', defaultText: '10s' },
  { name: 'no-json-shorthand-payloads', help: 'Accepted for compatibility; payloads are never shortened' },
  { name: 'profile', value: 'NAME', help: 'Profile to use from the file of profiles', defaultText: 'default', env: 'TEMPORAL_PROFILE' },
  {
    name: 'config-file',
    value: 'FILE',
    help: 'File of profiles (TOML)',
    defaultText: 'temporalio/temporal.toml in the configuration folder',
    env: 'TEMPORAL_CONFIG_FILE',
  },
  { name: 'disable-config-file', help: 'Do not read the file of profiles' },
  { name: 'disable-config-env', help: 'Ignore environment variables for the connection' },
  { name: 'quiet', help: 'Show no progress on the terminal' },
  { name: 'yes', short: 'y', help: 'Ask no questions' },
];
