/** The commands over dead letters beside a whole server in memory, whose tasks fail because they are told to. */
import { test } from 'vitest';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';
import { CommandsOverLetters, workflowTasksFail } from './commands-over-letters.ts';
import { bin } from './perdure-process.ts';

const children = childrenOfEachTest();

test('tasks that fail for good are listed, read, counted, grouped, shown, purged, planned and merged', async () => {
  const { taskType, namespace, kind, errorMessage } = workflowTasksFail;
  const fault = `task=${taskType},namespace=${namespace},kind=${kind},error=${errorMessage}`;
  const line = ['server', 'start-dev', '--port', '0', '--ip', '127.0.0.1', '--namespace', namespace, '--dev-faults', fault];
  const child = new Child(bin, line);
  children.push(child);
  const port = /\d+$/.exec(await child.seen('out', /^Server: +\S+:\d+(?=\n)/m))?.[0] ?? '';
  await new CommandsOverLetters(`127.0.0.1:${port}`).all();
});
