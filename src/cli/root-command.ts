import { dlqCommand } from './admin/dlq/dlq-commands.ts';
import { command, type Flag, flag, toggle } from './command.ts';
import { callFlags } from './connection-flags.ts';
import { globalFlags, textOutputFlag } from './global-flags.ts';
import { startDevFlags } from './server/start-dev-flags.ts';
import { startFlags } from './server/start-flags.ts';

const fileArgument = { name: 'FILE', help: 'The server file (YAML)' };

const startDev = command('start-dev', 'Start a development server: one process, nothing else to install.', {
  details: [
    'Workflows are kept in memory and end with the process, unless --db-filename names a file. With a file, what the server has acknowledged survives a crash or kill -9.',
  ],
  flags: startDevFlags,
  examples: [
    { what: 'Serve on localhost:7233, in memory', line: 'perdure server start-dev' },
    { what: 'Keep workflows in a file', line: 'perdure server start-dev --db-filename perdure.db' },
    {
      what: 'Serve on another port, with two more namespaces and a search attribute',
      line: 'perdure server start-dev -p 7300 -n orders -n billing --search-attribute CustomerId=Keyword',
    },
  ],
  run: async (invocation) => (await import('./server/start-dev.ts')).runStartDev(invocation),
});

const start = command('start', 'Start a server from a configuration file; with perdure.kafka.brokers its journals are on Kafka.', {
  flags: startFlags,
  examples: [
    { what: 'Serve as the file says', line: 'perdure server start --config server.yaml' },
    { what: 'Create no topics and tables, but print how', line: 'perdure server start --config server.yaml --no-auto-migrate' },
  ],
  run: async (invocation) => (await import('./server/start.ts')).runStart(invocation),
});

const server = command('server', 'Run a Perdure server.', {
  examples: [
    { what: 'For development', line: 'perdure server start-dev' },
    { what: 'From a configuration file', line: 'perdure server start --config server.yaml' },
  ],
  subcommands: [startDev, start],
});

const config = command('config', 'Check and show server configuration files.', {
  examples: [{ what: 'Check a file before it is rolled out', line: 'perdure config validate server.yaml' }],
  subcommands: [
    command('validate', 'Check a server file and print every problem with its line; exits with 0 or 2.', {
      details: ['Unknown keys are errors here, even if a server would only warn about them.'],
      args: [fileArgument],
      flags: [
        toggle('connect', 'Also connect to Kafka and PostgreSQL, and check whether a start would be refused there; exits with 1 if so'),
        toggle('dynamic', 'FILE is a dynamic configuration file: report what is wrong in it and what has no effect'),
        textOutputFlag,
      ],
      examples: [
        { what: 'Check a file', line: 'perdure config validate server.yaml' },
        { what: 'Also check that Kafka and PostgreSQL would accept a start', line: 'perdure config validate --connect server.yaml' },
        { what: 'Check a dynamic configuration file', line: 'perdure config validate --dynamic dynamic.yaml' },
      ],
      run: async (invocation) => (await import('./config/validate.ts')).runValidate(invocation),
    }),
    command('print', 'Print the effective configuration: canonical keys, defaults filled in, secrets masked.', {
      args: [fileArgument],
      flags: [{ ...textOutputFlag, help: 'json, jsonl, text (YAML) or none' }],
      examples: [{ what: 'As JSON', line: 'perdure config print server.yaml -o json' }],
      run: async (invocation) => (await import('./config/print.ts')).runPrint(invocation),
    }),
    command('schema', 'Print the JSON Schema of the server file, for editors.', {
      examples: [{ what: 'Save the schema', line: 'perdure config schema > perdure.schema.json' }],
      run: async (invocation) => (await import('./config/schema.ts')).runSchema(invocation),
    }),
  ],
});

const visibility = command('visibility', 'Rows that List and Count read.', {
  examples: [{ what: 'Rebuild the rows', line: 'perdure admin visibility rebuild' }],
  subcommands: [
    command('rebuild', 'Rebuild the rows that List and Count read, from the workflows, while the server keeps serving.', {
      details: [
        'Use it when List is wrong, or after its tables were lost: missing rows are added, wrong rows are repaired, and rows of workflows that do not exist are removed. ' +
          'It can be started at any time, continues after a crash, and ends by itself; perdure admin state shows its progress.',
      ],
      flags: callFlags,
      examples: [
        { what: 'Rebuild the rows of all shards', line: 'perdure admin visibility rebuild' },
        { what: 'Show its progress', line: 'perdure admin state' },
      ],
      run: async (invocation) => (await import('./admin/rebuild-visibility.ts')).runRebuildVisibility(invocation),
    }),
  ],
});

const shard = command('shard', 'History shards.', {
  examples: [{ what: 'Show who owns a shard', line: 'perdure admin shard describe --shard-id 1' }],
  subcommands: [
    command('describe', 'Show a history shard: who owns it, and its range id.', {
      flags: [flag('shard-id', 'N', 'Number of the shard, from 1'), ...callFlags],
      examples: [{ what: 'Show the first shard', line: 'perdure admin shard describe --shard-id 1' }],
      run: async (invocation) => (await import('./admin/describe.ts')).runDescribeShard(invocation),
    }),
  ],
});

const adminCluster = command('cluster', 'The cluster: name, shards, stores and members.', {
  examples: [{ what: 'Show it', line: 'perdure admin cluster describe' }],
  subcommands: [
    command('describe', 'Show the cluster: name, id, shards, versions, stores and members.', {
      flags: callFlags,
      examples: [{ what: 'As JSON', line: 'perdure admin cluster describe -o json' }],
      run: async (invocation) => (await import('./admin/describe.ts')).runDescribeCluster(invocation),
    }),
  ],
});

const cluster = command('cluster', 'Check whether a cluster is serving.', {
  examples: [{ what: 'Check it, for example in a script', line: 'perdure cluster health' }],
  subcommands: [
    command('health', 'Print SERVING and exit with 0, or NOT_SERVING and exit with 4.', {
      flags: [flag('cluster', 'NAME', 'Name of a cluster that the server knows', { defaultText: 'its own cluster' }), ...callFlags],
      examples: [
        { what: 'Check the server on this machine', line: 'perdure cluster health' },
        { what: 'Check another one, and print JSON', line: 'perdure cluster health --address db-3:7233 -o json' },
      ],
      run: async (invocation) => (await import('./cluster/health.ts')).runHealth(invocation),
    }),
  ],
});

const namespaceArgument = { name: 'NAMESPACE', help: 'Name of the namespace' };
const namespaceFlags: readonly Flag[] = [
  flag('description', 'TEXT', 'Purpose of the namespace'),
  flag('owner-email', 'ADDRESS', 'Email address of its owner'),
  flag('data', 'KEY=VALUE', 'Additional data about the namespace', { repeat: true }),
];

const namespace = command('namespace', 'Register, list, describe, update and delete namespaces.', {
  examples: [{ what: 'List all namespaces', line: 'perdure namespace list' }],
  subcommands: [
    command('register', 'Register a namespace.', {
      args: [namespaceArgument],
      flags: [
        flag('clusters', 'NAME', 'Clusters that have the namespace: several values, or a list with commas', {
          many: true,
          repeat: true,
          defaultText: 'this cluster',
        }),
        flag('active-cluster', 'NAME', 'Cluster that runs its workflows', { defaultText: 'this cluster' }),
        flag('retention', 'DURATION', 'How long closed workflows are kept', { defaultText: '72h' }),
        ...namespaceFlags,
        ...callFlags,
      ],
      examples: [
        { what: 'Keep closed workflows for a week', line: 'perdure namespace register orders --retention 168h' },
        { what: 'Register it on two clusters', line: 'perdure namespace register orders --clusters a b --active-cluster a' },
      ],
      run: async (invocation) => (await import('./namespace/namespaces.ts')).runRegister(invocation),
    }),
    command('list', 'List namespaces.', {
      flags: callFlags,
      examples: [{ what: 'As JSON', line: 'perdure namespace list -o json' }],
      run: async (invocation) => (await import('./namespace/namespaces.ts')).runListNamespaces(invocation),
    }),
    command('describe', 'Show a namespace.', {
      args: [namespaceArgument],
      flags: callFlags,
      examples: [{ what: 'As JSON', line: 'perdure namespace describe orders -o json' }],
      run: async (invocation) => (await import('./namespace/namespaces.ts')).runDescribeNamespace(invocation),
    }),
    command('update', 'Change a namespace, and show the result.', {
      details: ['Settings without a flag stay as they are. A workflow keeps the retention that its namespace had when it was started.'],
      args: [namespaceArgument],
      flags: [flag('retention', 'DURATION', 'How long closed workflows are kept'), ...namespaceFlags, ...callFlags],
      examples: [{ what: 'Keep closed workflows for a month', line: 'perdure namespace update orders --retention 30d' }],
      run: async (invocation) => (await import('./namespace/namespaces.ts')).runUpdateNamespace(invocation),
    }),
    command('delete', 'Delete a namespace and all its workflows. This cannot be undone.', {
      details: [
        'Its name can be used again at once; its contents are deleted in the background. On a terminal the command asks you to type the name of the namespace. Without a terminal it needs --yes.',
      ],
      args: [namespaceArgument],
      flags: [toggle('yes', 'Ask no questions', { short: 'y' }), ...callFlags],
      examples: [{ what: 'Delete it without asking', line: 'perdure namespace delete orders --yes' }],
      run: async (invocation) => (await import('./namespace/namespaces.ts')).runDeleteNamespace(invocation),
    }),
  ],
});

const queue = command('queue', 'Queues of this cluster’s own tasks.', {
  examples: [{ what: 'List their dead letter queues', line: 'perdure admin queue dlq list' }],
  subcommands: [dlqCommand('admin queue dlq')],
});

const admin = command('admin', 'Inspect and repair a running server.', {
  examples: [
    { what: 'Show the state of each history shard', line: 'perdure admin state' },
    { what: 'Rebuild List when it is wrong', line: 'perdure admin visibility rebuild' },
    { what: 'List the dead letter queues', line: 'perdure admin queue dlq list' },
  ],
  subcommands: [
    command('state', 'Show the journal, the last checkpoint and the unwritten state of each history shard. Changes nothing.', {
      flags: callFlags,
      examples: [
        { what: 'As a table', line: 'perdure admin state' },
        { what: 'Of another server, as JSON', line: 'perdure admin state --address db-3:7233 -o json' },
      ],
      run: async (invocation) => (await import('./admin/state.ts')).runState(invocation),
    }),
    visibility,
    shard,
    adminCluster,
    dlqCommand('admin dlq'),
    queue,
  ],
});

const errors = command('errors', 'Explain an error code, an exit code, or the outcome of a dead letter.', {
  args: [{ name: 'CODE', help: 'For example NOT_FOUND, 3 or OutcomeUnknown; without a code, all are listed', isOptional: true }],
  flags: [textOutputFlag],
  examples: [
    { what: 'Explain the outcome of a merge', line: 'perdure errors OutcomeUnknown' },
    { what: 'Explain an exit code', line: 'perdure errors 3' },
  ],
  run: async (invocation) => (await import('./explained-errors.ts')).runErrors(invocation),
});

const completion = command('completion', 'Print the shell script that completes perdure command lines.', {
  args: [{ name: 'SHELL', help: 'bash, zsh, fish or powershell' }],
  examples: [
    { what: 'Use it in the current bash', line: 'source <(perdure completion bash)' },
    { what: 'Install it for fish', line: 'perdure completion fish > ~/.config/fish/completions/perdure.fish' },
  ],
  run: async (invocation) => (await import('./completion-scripts.ts')).runCompletion(invocation),
});

const version = command('version', 'Print the version of Perdure, of the Temporal API it speaks, and of Node.', {
  flags: [textOutputFlag],
  examples: [{ what: 'As JSON', line: 'perdure version -o json' }],
  run: async (invocation) => (await import('./version.ts')).runVersion(invocation),
});

/** Commands of Temporal's own command line, which people may type here. */
const temporalCommands = ['activity', 'batch', 'nexus', 'operator', 'schedule', 'task-queue', 'worker', 'workflow'];

export const rootCommand = command('perdure', 'Perdure runs Temporal workers on the Kafka you already have.', {
  flags: [toggle('version', 'Print the version', { short: 'v' })],
  globalFlags,
  examples: [
    { what: 'Start a development server on localhost:7233', line: 'perdure server start-dev' },
    { what: 'Show help for a command', line: 'perdure server start-dev --help' },
  ],
  subcommands: [server, config, admin, cluster, namespace, errors, completion, version],
  elsewhere: new Map(temporalCommands.map((word) => [word, `The Temporal CLI does that, against this server too: temporal ${word} …`])),
});
