import { type Flag, flag, toggle } from '../command.ts';
import { alternatives } from '../cli-error.ts';
import { logLevels } from '../global-flags.ts';

export const logLevelFlag = flag('log-level', 'LEVEL', alternatives(logLevels), { defaultText: 'warn' });
const notServed = 'Accepted for compatibility; nothing is served there yet.';

/** The flags of Temporal's dev server, so that scripts and SDK test environments can start Perdure in its place, and Perdure's own. */
export const startDevFlags: readonly Flag[] = [
  flag('db-filename', 'FILE', 'Keep workflows in this file; it is created if it does not exist, but its folder must exist', {
    short: 'f',
    defaultText: 'in memory',
  }),
  flag('namespace', 'NAME', 'Namespace to create at the start; "default" always exists', { short: 'n', repeat: true }),
  flag('ip', 'ADDRESS', 'Address to listen on', { defaultText: 'localhost, which is 127.0.0.1 and ::1' }),
  flag('port', 'PORT', 'Port of the gRPC frontend; GET /health answers there too', { short: 'p', defaultText: '7233' }),
  flag(
    'search-attribute',
    'NAME=TYPE',
    'Search attribute to register; the types are Text, Keyword, Int, Double, Bool, Datetime and KeywordList',
    { repeat: true },
  ),
  flag('dynamic-config-value', 'KEY=JSON', 'Dynamic configuration value (docs/operations/dynamic-configuration.md)', { repeat: true }),
  flag('sqlite-pragma', 'NAME=VALUE', 'SQLite pragma for the database of --db-filename', { repeat: true }),
  toggle('log-config', 'Print the effective configuration on stderr, with secrets masked'),
  logLevelFlag,
  flag('log-format', 'FORMAT', 'text or json; pretty is text', { defaultText: 'text' }),
  flag('http-port', 'PORT', `Port of the HTTP API. ${notServed}`),
  flag('metrics-port', 'PORT', 'Port of GET /metrics, for Prometheus', { defaultText: 'a free one' }),
  flag('ui-port', 'PORT', 'Port where Temporal’s web UI may run; if it does, the banner shows its address (docs/web-ui.md)', {
    defaultText: '8233',
  }),
  flag('ui-ip', 'ADDRESS', `Address of the web console. ${notServed}`),
  flag('ui-public-path', 'PATH', `Path of the web console. ${notServed}`),
  flag('ui-asset-path', 'FOLDER', `Build of the web console. ${notServed}`),
  flag('ui-codec-endpoint', 'URL', `Codec endpoint of the web console. ${notServed}`),
  toggle('ui-disable-news-fetch', 'Accepted for compatibility; has no effect'),
  toggle('headless', 'Do not look for a web UI'),
  flag('history-port', 'PORT', 'Port of the history role, for health checks; 0 takes a free one', { defaultText: 'none' }),
  flag('matching-port', 'PORT', 'Port of the matching role, for health checks; 0 takes a free one', { defaultText: 'none' }),
  toggle('role-ports', 'Open the ports of both roles: 7234 for history and 7235 for matching, or free ones if these are in use', {
    negatable: true,
  }),
  flag(
    'dev-faults',
    'FAULT',
    'Make tasks fail, to try out dead letters: task=TASK_TYPE_…, error=TEXT, kind=failed|permanent, share=0.5, namespace=NAME',
    { repeat: true },
  ),
];
