/**
 * Lines that the CLI prints otherwise, as docs/differences.md explains. Every other line of such a command, and its exit code, is compared
 * like any other's.
 */

export type KnownLines = {
  readonly command: string;
  /** How its row begins. */
  readonly row: string;
  /** What each of the lines is like, on either side. */
  readonly lines: RegExp;
};

const partitions = 'Partitions of a task queue on a server in one process';
const cluster = 'Description of the cluster in the dev server';
const pausedActivity = 'workflow describe --workflow-id act-3 --namespace default';

export const knownLines: readonly KnownLines[] = [
  {
    command: 'operator namespace list',
    row: 'ListNamespaces',
    lines: /^ {2}(NamespaceInfo\.(Name|Description|OwnerEmail) .*\btemporal\b|Config\.WorkflowExecutionRetentionTtl {2}168h0m0s$)/i,
  },
  {
    command: 'operator namespace list',
    row: 'Retention of `default` in the dev server',
    lines: /^ {2}Config\.WorkflowExecutionRetentionTtl {2}(24|72)h0m0s$/,
  },
  {
    command: 'operator namespace list',
    row: 'Replication state of `default` in the dev server',
    lines: /^ {2}ReplicationConfig\.State {2}(Unspecified|Normal)$/,
  },
  {
    command: 'operator namespace list',
    row: 'Aliases of custom search attributes in DescribeNamespace',
    lines: /^ {2}Config\.CustomSearchAttributeAliases {2}map\[(\w+:Cli\w+ ?)+\]$/,
  },
  { command: 'operator cluster describe', row: cluster, lines: /^ {2}active {2}(embedded|sqlite) {2}sqlite$/ },
  { command: 'operator cluster list', row: cluster, lines: /^ {2}active {2}<id> {2}\S+ {2}[14] {2}1 {2}true {2}false$/ },
  {
    command: 'task-queue list-partition --task-queue cli',
    row: partitions,
    lines: /^ {2}\/_sys\/cli\/[123] {2}<host>$/,
  },
  {
    command: 'task-queue list-partition --task-queue cli -o json',
    row: partitions,
    lines: /^ {2}"key": "\/_sys\/cli\/[123]"$/,
  },
  {
    command: pausedActivity,
    row: 'An activity that is unpaused, or has new options',
    lines: /^ {2}LastFailure {2}\{"message":"attempt 1 failed",/,
  },
  {
    command: pausedActivity,
    row: 'New options of an activity that waits for its next attempt',
    lines: /^ {2}ScheduledTime {2}(\d+ minutes|1 hour) from <ago>$/,
  },
  {
    command: 'workflow terminate --query WorkflowId =  --reason r --yes',
    row: 'The position in a syntax error of a filter',
    lines: /^Error: failed starting batch operation: invalid visibility query: syntax error at position \d+$/,
  },
];

/** What each rule has met. */
export class CliJudge {
  readonly #met = new Set<KnownLines>();

  /** Has each line that only one of them printed a rule? */
  isExplained(command: string, ours: string, theirs: string): boolean {
    const rules = onlyInOne(ours, theirs).map((line) => knownLines.find((known) => known.command === command && known.lines.test(line)));
    for (const rule of rules) if (rule !== undefined) this.#met.add(rule);
    return rules.length > 0 && !rules.includes(undefined);
  }

  /** Rules for these commands that have met no line: what they explain is gone. */
  outdated(commands: readonly string[]): readonly KnownLines[] {
    return knownLines.filter((known) => commands.includes(known.command) && !this.#met.has(known));
  }
}

/** Lines that say something: JSON has some of brackets alone. */
function onlyInOne(ours: string, theirs: string): readonly string[] {
  const [left, right] = [new Set(ours.split('\n')), new Set(theirs.split('\n'))];
  return [...left, ...right].filter((line) => left.has(line) !== right.has(line) && /\w/.test(line));
}
