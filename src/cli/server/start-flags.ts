import type { Flag } from '../command.ts';
import { logLevelFlag } from './start-dev-flags.ts';

export const roles = ['frontend', 'history', 'matching', 'worker'];

export const startFlags: readonly Flag[] = [
  { name: 'config', aliases: ['config-file'], value: 'FILE', env: 'TEMPORAL_SERVER_CONFIG_FILE_PATH', help: 'The server file (YAML)' },
  {
    name: 'role',
    aliases: ['service'],
    value: 'ROLE',
    choices: roles,
    repeat: true,
    help: 'frontend, history, matching or worker; one process runs all four for now, so name all of them or none',
  },
  { ...logLevelFlag, help: `${logLevelFlag.help}; overrides the server file`, defaultText: 'log.level' },
  { name: 'strict-config', help: 'Treat every unknown key of the file as an error' },
  { name: 'no-auto-migrate', help: 'Create no topics and tables; if some are missing, print what creates them and exit' },
  { name: 'allow-no-auth', env: 'TEMPORAL_ALLOW_NO_AUTH', help: 'Do not warn that anyone who can reach the port can use the server' },
];
