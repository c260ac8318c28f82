/**
 * Completes a command line from the command tree, in the protocol of shells and of Temporal's command line:
 *
 *     __complete admin dl       ▶  dlq<TAB>Dead letters …      one candidate per line
 *                                  :4                          4: no files; 0: whatever the shell offers
 */
import { exitCodes, type Command, type ExitCode, type Flag, type FlagValues } from './command.ts';
import type { GrpcClient } from './grpc-client.ts';
import type { Io } from './io.ts';
import { helpFlag } from './parse.ts';

type Candidate = { readonly word: string; readonly help: string };
type Completion = { readonly candidates: readonly Candidate[]; readonly takesFiles: boolean };

/** How long a shell waits for a server, unless the command line that is being typed sets another time. */
const SERVER_WAIT = '400ms';
const jobsOffered = 20;

export function isCompletionWord(word: string | undefined): boolean {
  return word === '__complete' || word === '__completeNoDesc';
}

/** `words` are all words after the program; the last one may be incomplete. */
export async function runComplete(root: Command, words: readonly string[], io: Io, withHelp: boolean): Promise<ExitCode> {
  const { candidates, takesFiles } = await completion(root, words, io);
  io.out(candidates.map(({ word, help }) => (withHelp && help !== '' ? `${word}\t${help}\n` : `${word}\n`)).join(''));
  io.out(takesFiles ? ':0\n' : ':4\n');
  return exitCodes.done;
}

async function completion(root: Command, words: readonly string[], io: Io): Promise<Completion> {
  const typed = words.at(-1) ?? '';
  const before = words[0] === 'help' ? words.slice(1, -1) : words.slice(0, -1);
  const { command, awaited } = placeOf(root, before);
  const begun = (candidates: readonly Candidate[]): Completion => ({
    candidates: candidates.filter(({ word }) => word.startsWith(typed)),
    takesFiles: false,
  });
  if (awaited !== undefined) {
    const values = await valuesOf(awaited, before, io);
    return values === undefined ? { candidates: [], takesFiles: true } : begun(values.map((word) => ({ word, help: '' })));
  }
  if (typed.startsWith('-')) {
    const own = command.flags ?? [];
    const others = (root.globalFlags ?? []).filter(({ name }) => own.every((flag) => flag.name !== name));
    return begun([...own, ...others, helpFlag].map(({ name, help }) => ({ word: `--${name}`, help })));
  }
  if (command.subcommands !== undefined) return begun(command.subcommands.map(({ name, summary }) => ({ word: name, help: summary })));
  const [argument] = command.args ?? [];
  switch (argument?.name) {
    case 'SHELL':
      return begun(shells.map((word) => ({ word, help: '' })));
    case 'JOB':
      return begun((await fromServer(before, io, jobIds)).map((word) => ({ word, help: '' })));
    default:
      return { candidates: [], takesFiles: argument?.name === 'FILE' };
  }
}

/** The command that was named so far, and the flag that waits for its value. */
function placeOf(root: Command, words: readonly string[]): { readonly command: Command; readonly awaited: Flag | undefined } {
  const all = allFlags(root);
  let command = root;
  let awaited: Flag | undefined;
  for (const word of words) {
    if (awaited !== undefined) awaited = undefined;
    else if (word.startsWith('-')) {
      const flag = all.get(word.replace(/^-+/, ''));
      awaited = word.includes('=') || flag?.value === undefined ? undefined : flag;
    } else command = command.subcommands?.find(({ name }) => name === word) ?? command;
  }
  return { command, awaited: awaited === undefined ? undefined : (command.flags?.find(({ name }) => name === awaited?.name) ?? awaited) };
}

function allFlags(command: Command): ReadonlyMap<string, Flag> {
  const flags = new Map<string, Flag>((command.subcommands ?? []).flatMap((child) => [...allFlags(child)]));
  for (const flag of [...(command.globalFlags ?? []), ...(command.flags ?? [])]) {
    for (const name of [flag.name, flag.short ?? flag.name, ...(flag.aliases ?? [])]) flags.set(name, flag);
  }
  return flags;
}

/** Undefined if the values of the flag are not known. */
async function valuesOf({ name, value, help, choices }: Flag, words: readonly string[], io: Io): Promise<readonly string[] | undefined> {
  if (choices !== undefined) return choices;
  switch (name) {
    case 'category':
      return fromServer(words, io, async (client) => (await queueNamesOf(client)).map(({ category }) => category));
    case 'cluster':
    case 'clusters':
    case 'active-cluster':
      return fromServer(words, io, async (client) => (await queueNamesOf(client)).map(({ sourceCluster }) => sourceCluster));
    case 'namespace':
      return fromServer(words, io, async (client) => (await import('./namespace/namespaces.ts')).namespaceNames(client));
    case 'job':
      return fromServer(words, io, jobIds);
    default:
      if (value === 'FILE') return undefined;
      return name === 'output' || name === 'dlq-type' || name === 'log-level' ? choicesOf(help) : [];
  }
}

/** The help of a flag with choices names them: `json, jsonl, text or none`. */
function choicesOf(help: string): readonly string[] {
  const list = /(?:^|: )([a-z-]+(?:, [a-z-]+)*(?: or [a-z-]+))/.exec(help)?.[1] ?? '';
  return list.split(/, | or /).filter((word) => word !== '');
}

async function queueNamesOf(client: GrpcClient) {
  const { allQueues } = await import('./admin/dlq/queues.ts');
  return (await allQueues(client)).flatMap(({ name }) => name ?? []);
}

async function jobIds(client: GrpcClient): Promise<readonly string[]> {
  const { calls } = await import('./admin/dlq/service.ts');
  const request = { queue: undefined, activeOnly: false, pageSize: jobsOffered, nextPageToken: new Uint8Array(0) };
  return (await client.call(calls.ListJobs, request)).jobs.map(({ jobId }) => jobId);
}

/** Names from the server, if it answers while the shell waits. Names that a shell would split or interpret are left out. */
async function fromServer(
  words: readonly string[],
  io: Io,
  ask: (client: GrpcClient) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const given = (name: string): string | undefined => {
    const at = words.lastIndexOf(`--${name}`);
    return at < 0 ? undefined : words[at + 1];
  };
  const timeouts: Readonly<Record<string, string>> = { 'command-timeout': SERVER_WAIT, 'client-connect-timeout': SERVER_WAIT };
  const flags: FlagValues = { one: (name) => given(name) ?? timeouts[name], all: () => [], switched: () => undefined };
  try {
    const { withServer } = await import('./grpc-client.ts');
    const names = await withServer({ flags, args: [], io, format: 'none' }, ask);
    return [...new Set(names)].filter((name) => /^[\w.:@/+-]+$/.test(name)).toSorted();
  } catch {
    // Without a server there is nothing to offer.
    return [];
  }
}

export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;
