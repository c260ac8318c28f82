import { dlqCommand } from './admin/dlq/dlq-commands.ts';
import type { Command } from './command.ts';
import { addressFlag } from './connection-flags.ts';
import { startDevFlags } from './server/start-dev-flags.ts';
import { startFlags } from './server/start-flags.ts';

const fileArgument = { name: 'FILE', help: 'The server file (YAML)' };

const startDev: Command = {
  name: 'start-dev',
  summary: 'Start a development server: one process, nothing else to install.',
  details: [
    'Workflows are kept in memory and end with the process, unless --db-filename names a file. With a file, what the server has acknowledged survives a crash or kill -9.',
  ],
  flags: startDevFlags,
  examples: [
    { what: 'Serve on localhost:7233, in memory', line: 'perdure server start-dev' },
    { what: 'Keep workflows in a file', line: 'perdure server start-dev --db-filename perdure.db' },
    {
      what: 'Two more namespaces and a search attribute, on another port',
      line: 'perdure server start-dev -p 7300 -n orders -n billing --search-attribute CustomerId=Keyword',
    },
  ],
  run: async (invocation) => (await import('./server/start-dev.ts')).runStartDev(invocation),
};

const start: Command = {
  name: 'start',
  summary: 'Start a server from a configuration file; with perdure.kafka.brokers its journals live on Kafka.',
  flags: startFlags,
  examples: [
    { what: 'Serve as the file says', line: 'perdure server start --config server.yaml' },
    { what: 'Never create topics; print the commands that would', line: 'perdure server start --config server.yaml --no-auto-migrate' },
  ],
  run: async (invocation) => (await import('./server/start.ts')).runStart(invocation),
};

const server: Command = {
  name: 'server',
  summary: 'Run a Perdure server.',
  examples: [
    { what: 'For development', line: 'perdure server start-dev' },
    { what: 'From a configuration file', line: 'perdure server start --config server.yaml' },
  ],
  subcommands: [startDev, start],
};

const config: Command = {
  name: 'config',
  summary: 'Check and show server configuration files.',
  examples: [{ what: 'Check a file before it is rolled out', line: 'perdure config validate server.yaml' }],
  subcommands: [
    {
      name: 'validate',
      summary: 'Check a server file: every problem with its line, exit code 0 or 2.',
      details: ['Unknown keys are errors here, even where a server would only warn.'],
      args: [fileArgument],
      flags: [
        { name: 'connect', help: 'Try every broker and the login too, and PostgreSQL where it is named; exit code 1 when one fails' },
        { name: 'dynamic', help: 'FILE is a file of dynamic configuration: what in it is wrong, and what has no effect' },
      ],
      examples: [
        { what: 'Check a file', line: 'perdure config validate server.yaml' },
        { what: 'And whether Kafka lets us in', line: 'perdure config validate --connect server.yaml' },
        { what: 'Check a file of dynamic configuration', line: 'perdure config validate --dynamic dynamic.yaml' },
      ],
      run: async (invocation) => (await import('./config/validate.ts')).runValidate(invocation),
    },
    {
      name: 'print',
      summary: 'Print what a server file adds up to: canonical keys, defaults filled in, secrets masked.',
      args: [fileArgument],
      flags: [{ name: 'output', short: 'o', value: 'FORMAT', help: 'text (YAML) or json', defaultText: 'text' }],
      examples: [{ what: 'As JSON', line: 'perdure config print server.yaml -o json' }],
      run: async (invocation) => (await import('./config/print.ts')).runPrint(invocation),
    },
    {
      name: 'schema',
      summary: 'Print the JSON Schema of the server file, for editors.',
      examples: [{ what: 'Save it', line: 'perdure config schema > perdure.schema.json' }],
      run: async (invocation) => (await import('./config/schema.ts')).runSchema(invocation),
    },
  ],
};

const visibility: Command = {
  name: 'visibility',
  summary: 'What List and Count show.',
  examples: [{ what: 'Build it again', line: 'perdure admin visibility rebuild' }],
  subcommands: [
    {
      name: 'rebuild',
      summary: 'Let a running server build what List and Count show again from its workflows, while it serves.',
      details: [
        'Where List is wrong, or its tables were lost: rows that are missing come back, wrong ones are mended, and those of workflows that do not exist go. ' +
          'It may be asked for at any time, goes on behind a crash, and ends by itself; perdure admin state shows how far it is.',
      ],
      flags: [addressFlag, { name: 'output', short: 'o', value: 'FORMAT', help: 'text or json', defaultText: 'text' }],
      examples: [
        { what: 'Of all shards', line: 'perdure admin visibility rebuild' },
        { what: 'How far it is', line: 'perdure admin state' },
      ],
      run: async (invocation) => (await import('./admin/rebuild-visibility.ts')).runRebuildVisibility(invocation),
    },
  ],
};

const queue: Command = {
  name: 'queue',
  summary: 'Queues of this cluster’s own tasks.',
  examples: [{ what: 'What lies in their dead letter queues', line: 'perdure admin queue dlq list' }],
  subcommands: [dlqCommand('admin queue dlq')],
};

const admin: Command = {
  name: 'admin',
  summary: 'Look into a running server, and mend it.',
  examples: [
    { what: 'What is kept of each history shard', line: 'perdure admin state' },
    { what: 'Where List is wrong', line: 'perdure admin visibility rebuild' },
    { what: 'What lies in dead letter queues', line: 'perdure admin queue dlq list' },
  ],
  subcommands: [
    {
      name: 'state',
      summary: 'Show each history shard of a running server: its journal, its last checkpoint, what is not written. Changes nothing.',
      flags: [addressFlag, { name: 'output', short: 'o', value: 'FORMAT', help: 'text or json', defaultText: 'text' }],
      examples: [
        { what: 'As a table', line: 'perdure admin state' },
        { what: 'For a script', line: 'perdure admin state --address db-3:7233 -o json' },
      ],
      run: async (invocation) => (await import('./admin/state.ts')).runState(invocation),
    },
    visibility,
    dlqCommand('admin dlq'),
    queue,
  ],
};

const version: Command = {
  name: 'version',
  summary: 'Print the version of Perdure, of the Temporal API it speaks, and of Node.',
  flags: [{ name: 'output', short: 'o', value: 'FORMAT', help: 'text or json', defaultText: 'text' }],
  examples: [{ what: 'For a script', line: 'perdure version -o json' }],
  run: async (invocation) => (await import('./version.ts')).runVersion(invocation),
};

/** People who know one binary for everything type these. */
const temporalCommands = ['activity', 'batch', 'nexus', 'operator', 'schedule', 'task-queue', 'worker', 'workflow'];

export const rootCommand: Command = {
  name: 'perdure',
  summary: 'Perdure runs Temporal workers on the Kafka you already have.',
  flags: [{ name: 'version', short: 'v', help: 'Print the version' }],
  examples: [
    { what: 'A development server on localhost:7233', line: 'perdure server start-dev' },
    { what: 'Help for one command', line: 'perdure server start-dev --help' },
  ],
  subcommands: [server, config, admin, version],
  elsewhere: new Map(temporalCommands.map((word) => [word, `The Temporal CLI does that, against this server too: temporal ${word} …`])),
};
