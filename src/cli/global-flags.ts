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
  { name: 'command-timeout', value: 'DURATION', help: 'Give up after so long; 0: never', defaultText: '0' },
  { name: 'client-connect-timeout', value: 'DURATION', help: 'For the connection alone', defaultText: '10s' },
  { name: 'no-json-shorthand-payloads', help: 'Accepted: payloads are never shortened' },
  { name: 'profile', value: 'NAME', help: 'Profile of the file of profiles', defaultText: 'default', env: 'TEMPORAL_PROFILE' },
  {
    name: 'config-file',
    value: 'FILE',
    help: 'File of profiles (TOML)',
    defaultText: 'temporalio/temporal.toml in the folder of configuration',
    env: 'TEMPORAL_CONFIG_FILE',
  },
  { name: 'disable-config-file', help: 'No profile' },
  { name: 'disable-config-env', help: 'Nothing of the connection from the environment' },
  { name: 'quiet', help: 'No progress on the terminal' },
  { name: 'yes', short: 'y', help: 'No questions' },
];
