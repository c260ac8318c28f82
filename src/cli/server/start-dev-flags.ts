import type { Flag } from '../command.ts';
import { logFormatFlag, logLevelFlag } from './log-flags.ts';

const notServed = 'Accepted for compatibility; nothing is served there yet.';

/** The flags of Temporal's dev server, so that scripts and SDK test environments can start Perdure in its place, and our own. */
export const startDevFlags: readonly Flag[] = [
  {
    name: 'db-filename',
    short: 'f',
    value: 'FILE',
    help: 'Keep workflows in this file; it is created if missing, but its folder must exist',
    defaultText: 'in memory',
  },
  { name: 'namespace', short: 'n', value: 'NAME', repeat: true, help: 'Namespace to create at the start; "default" always exists' },
  { name: 'ip', value: 'ADDRESS', help: 'Address to listen on', defaultText: 'localhost, which is 127.0.0.1 and ::1' },
  { name: 'port', short: 'p', value: 'PORT', help: 'Port of the gRPC frontend; GET /health answers there too', defaultText: '7233' },
  {
    name: 'search-attribute',
    value: 'NAME=TYPE',
    repeat: true,
    help: 'Search attribute, usable at once: Text, Keyword, Int, Double, Bool, Datetime, KeywordList',
  },
  {
    name: 'dynamic-config-value',
    value: 'KEY=JSON',
    repeat: true,
    help: 'Dynamic configuration value. Limits are read (docs/configuration.md).',
  },
  { name: 'sqlite-pragma', value: 'NAME=VALUE', repeat: true, help: 'SQLite pragma for the database of --db-filename' },
  { name: 'log-config', help: 'Print the effective configuration on stderr, secrets masked' },
  logLevelFlag,
  logFormatFlag,
  { name: 'http-port', value: 'PORT', help: `Port of the HTTP API. ${notServed}` },
  { name: 'metrics-port', value: 'PORT', help: 'Port of GET /metrics, for Prometheus', defaultText: 'a free one' },
  {
    name: 'ui-port',
    value: 'PORT',
    help: 'Port where Temporal’s web UI runs, if it does; the banner then shows its address (docs/web-ui.md)',
    defaultText: '8233',
  },
  { name: 'ui-ip', value: 'ADDRESS', help: `Address of the web console. ${notServed}` },
  { name: 'ui-public-path', value: 'PATH', help: `Path of the web console. ${notServed}` },
  { name: 'ui-asset-path', value: 'FOLDER', help: `Build of the web console. ${notServed}` },
  { name: 'ui-codec-endpoint', value: 'URL', help: `Codec endpoint of the web console. ${notServed}` },
  { name: 'ui-disable-news-fetch', help: 'Accepted for compatibility; there is no web console yet that could fetch news' },
  { name: 'headless', help: 'Do not look for a web UI' },
  {
    name: 'role-ports',
    negatable: true,
    help: 'Listen on the ports of the history and matching roles too. Accepted; nothing is served there yet.',
  },
  {
    name: 'dev-faults',
    value: 'FAULT',
    repeat: true,
    help: 'Make tasks fail, to try dead letters: task=TASK_TYPE_…, error=TEXT, kind=failed|permanent, share=0.5, namespace=NAME',
  },
];
