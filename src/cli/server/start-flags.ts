import { type Flag, flag, toggle } from '../command.ts';
import { logLevelFlag } from './start-dev-flags.ts';

export const roles = ['frontend', 'history', 'matching', 'worker'];

export const startFlags: readonly Flag[] = [
  flag('config', 'FILE', 'The server file (YAML)', { aliases: ['config-file'], env: 'TEMPORAL_SERVER_CONFIG_FILE_PATH' }),
  flag('role', 'ROLE', 'frontend, history, matching or worker; one process runs all four for now, so name all of them or none', {
    aliases: ['service'],
    choices: roles,
    repeat: true,
  }),
  { ...logLevelFlag, help: `${logLevelFlag.help}; overrides the server file`, defaultText: 'log.level' },
  toggle('strict-config', 'Treat every unknown key of the file as an error'),
  toggle('no-auto-migrate', 'Create no topics and tables; if some are missing, print what creates them and exit'),
  toggle('allow-no-auth', 'Do not warn that anyone who can reach the port can use the server', { env: 'TEMPORAL_ALLOW_NO_AUTH' }),
];
