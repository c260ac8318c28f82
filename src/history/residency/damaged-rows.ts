/** Rows of a shard that cannot be read: each is the trouble of its workflow alone. */
import { assert } from '../../kernel/assert.ts';
import type { WaitingRow } from '../checkpoint/rows.ts';
import type { StateWire } from '../checkpoint/state-wire.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryCommand } from '../commands.ts';
import { refusedAsNoWorkflow } from '../execution/not-a-workflow.ts';
import type { Shard } from '../shard.ts';
import { currentName, type LoadKey, runName, type UnreadTask } from './residency.ts';
import type { RunBehind } from './runs-behind.ts';

/** A run that cannot be read goes with this command: who asks for it has no other way out. */
export function deletesUnread(command: HistoryCommand): boolean {
  switch (command.kind) {
    case 'deleteSchedule':
    case 'stopBatch':
      return true;
    case 'deleteWorkflow':
      return refusedAsNoWorkflow(command) === undefined;
    default:
      return false;
  }
}

export class DamagedRows {
  readonly #shard: Shard;
  readonly #wire: StateWire | undefined;

  constructor(shard: Shard, wire: StateWire | undefined) {
    this.#shard = shard;
    this.#wire = wire;
  }

  /** In a fold: what it brings for this run waits, until `installLoaded` is given a row that can be read. */
  leaveBehind(key: RunKey, reason: string): void {
    this.#shard.leaveBehind(key, reason);
  }

  /** Somebody wants to delete it: that is decided without it. `asked`: as it was asked for. */
  deleteUnread(asked: LoadKey, key: RunKey): void {
    this.#shard.residency?.toDeleteUnread.set(asked.kind === 'run' ? runName(asked) : currentName(key), key);
  }

  runsBehind(): readonly RunBehind[] {
    return [...(this.#shard.residency?.behind.values() ?? [])];
  }

  /** One of the records that wait for it, as a checkpoint has written it. Throws when it cannot be read. */
  installWaiting({ runId, index, record }: WaitingRow): void {
    assert(this.#wire !== undefined, 'rows are read with their codec');
    this.#shard.residency?.behind.installRecord(runId, index, this.#wire.decodeRecord(record));
  }

  /** Runs that came back since this was asked last, with the records that had waited for them. */
  takeComeBack(): readonly string[] {
    return this.#shard.residency?.behind.takeComeBack() ?? [];
  }

  /** They neither run nor fire. */
  tasksUnread(): readonly UnreadTask[] {
    return [...(this.#shard.residency?.unread.values() ?? [])];
  }
}
