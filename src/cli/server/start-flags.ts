import type { Flag } from '../command.ts';
import { logLevelOverFileFlag } from './log-flags.ts';

export const startFlags: readonly Flag[] = [
  { name: 'config', aliases: ['config-file'], value: 'FILE', env: 'TEMPORAL_SERVER_CONFIG_FILE_PATH', help: 'The server file (YAML)' },
  {
    name: 'role',
    aliases: ['service'],
    value: 'ROLE',
    repeat: true,
    help: 'frontend, history, matching or worker; so far one process runs all four, so name all or none',
  },
  logLevelOverFileFlag,
  { name: 'strict-config', help: 'Treat every unknown key of the file as an error' },
  { name: 'no-auto-migrate', help: 'Create no topics; if some are missing, print the commands that create them, and exit' },
  { name: 'allow-no-auth', env: 'TEMPORAL_ALLOW_NO_AUTH', help: 'Do not warn that anyone who can reach the port can use it' },
];
