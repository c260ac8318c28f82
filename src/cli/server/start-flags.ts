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
  { name: 'strict-config', help: 'Unknown keys of the file are errors everywhere' },
  { name: 'no-auto-migrate', help: 'Create no topics; stop, and print the commands, if some are missing' },
  { name: 'allow-no-auth', env: 'TEMPORAL_ALLOW_NO_AUTH', help: 'Do not warn that anybody who reaches the port may use it' },
];
