import type { Flag } from '../command.ts';
import { alternatives } from '../cli-error.ts';
import { logLevels } from '../global-flags.ts';

export const logLevelFlag: Flag = { name: 'log-level', value: 'LEVEL', help: alternatives(logLevels), defaultText: 'warn' };
const notServed = 'Accepted for compatibility; nothing is served there yet.';

/** The flags of Temporal's dev server, so that scripts and SDK test environments can start Perdure in its place, and Perdure's own. */
export const startDevFlags: readonly Flag[] = [
  {
    name: 'db-filename',
    short: 'f',
    value: 'FILE',
    help: 'Keep workflows in this file; it is created if it does not exist, but its folder must exist',
    defaultText: 'in memory',
  },
  { name: 'namespace', short: 'n', value: 'NAME', repeat: true, help: 'Namespace to create at the start; "default" always exists' },
  { name: 'ip', value: 'ADDRESS', help: 'Address to listen on', defaultText: 'localhost, which is 127.0.0.1 and ::1' },
  { name: 'port', short: 'p', value: 'PORT', help: 'Port of the gRPC frontend; GET /health answers there too', defaultText: '7233' },
  {
    name: 'search-attribute',
    value: 'NAME=TYPE',
    repeat: true,
    help: 'Search attribute to register; the types are Text, Keyword, Int, Double, Bool, Datetime and KeywordList',
  },
  {
    name: 'dynamic-config-value',
    value: 'KEY=JSON',
    repeat: true,
    help: 'Dynamic configuration value (docs/operations/dynamic-configuration.md)',
  },
  { name: 'sqlite-pragma', value: 'NAME=VALUE', repeat: true, help: 'SQLite pragma for the database of --db-filename' },
  { name: 'log-config', help: 'Print the effective configuration on stderr, with secrets masked' },
  logLevelFlag,
  { name: 'log-format', value: 'FORMAT', help: 'text or json; pretty is text', defaultText: 'text' },
  { name: 'http-port', value: 'PORT', help: `Port of the HTTP API. ${notServed}` },
  { name: 'metrics-port', value: 'PORT', help: 'Port of GET /metrics, for Prometheus', defaultText: 'a free one' },
  {
    name: 'ui-port',
    value: 'PORT',
    help: 'Port where Temporal’s web UI may run; if it does, the banner shows its address (docs/web-ui.md)',
    defaultText: '8233',
  },
  { name: 'ui-ip', value: 'ADDRESS', help: `Address of the web console. ${notServed}` },
  { name: 'ui-public-path', value: 'PATH', help: `Path of the web console. ${notServed}` },
  { name: 'ui-asset-path', value: 'FOLDER', help: `Build of the web console. ${notServed}` },
  { name: 'ui-codec-endpoint', value: 'URL', help: `Codec endpoint of the web console. ${notServed}` },
  { name: 'ui-disable-news-fetch', help: 'Accepted for compatibility; has no effect' },
  { name: 'headless', help: 'Do not look for a web UI' },
  { name: 'history-port', value: 'PORT', help: 'Port of the history role, for health checks; 0 takes a free one', defaultText: 'none' },
  { name: 'matching-port', value: 'PORT', help: 'Port of the matching role, for health checks; 0 takes a free one', defaultText: 'none' },
  {
    name: 'role-ports',
    negatable: true,
    help: 'Open the ports of both roles: 7234 for history and 7235 for matching, or free ones if these are in use',
  },
  {
    name: 'dev-faults',
    value: 'FAULT',
    repeat: true,
    help: 'Make tasks fail, to try out dead letters: task=TASK_TYPE_…, error=TEXT, kind=failed|permanent, share=0.5, namespace=NAME',
  },
];
