/** What a command takes in memory while it waits, roughly. Tasks are ids; only queries, their answers and rows that were read can be large. */
import type { MatchingCommand } from './commands.ts';

const overheadBytes = 1024;
const rowBytes = 512;

export function commandBytes<T>(command: MatchingCommand<T>): number {
  if (command.kind === 'dispatchQuery') return overheadBytes + command.query.length;
  if (command.kind === 'storedTasksLoaded') return overheadBytes + command.rows.length * rowBytes;
  if (command.kind !== 'answerQuery') return overheadBytes;
  const { answer, errorMessage, failure } = command.result;
  return overheadBytes + (answer?.length ?? 0) + errorMessage.length + (failure?.length ?? 0);
}
