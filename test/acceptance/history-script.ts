/**
 * A random program as a list of what it asked of its shard, and when: the same list makes every other shard do the same, because a core
 * decides by state, command and time alone. Beside each entry stands the state that the plain core had after it.
 */
import type { HistoryCommand } from '../../src/history/commands/history-commands.ts';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import { Program } from '../history/random-program.ts';
import type { ProgramStep } from '../history/random-program.ts';
import { ShardUnderTest } from '../history/shard-under-test.ts';

export const scriptLimits = { retentionMsDefault: 3_600_000 } as const;

export type ScriptEntry = {
  readonly nowMs: number;
  readonly askId: number;
  readonly command: HistoryCommand;
  readonly stateAfter: string;
};

export function scriptOf(steps: readonly ProgramStep[]): readonly ScriptEntry[] {
  const shard = new RecordingShard();
  const program = new Program(shard);
  for (const step of steps) program.run(step);
  return shard.script;
}

class RecordingShard extends ShardUnderTest {
  readonly script: ScriptEntry[] = [];

  constructor() {
    super(scriptLimits);
    // The replica of that suite is one fold more than is needed here.
    this.checks = false;
  }

  override ask(command: HistoryCommand): HistoryReply | undefined {
    const reply = super.ask(command);
    this.script.push({ nowMs: this.nowMs, askId: this.lastAskId, command, stateAfter: this.core.canonicalState() });
    return reply;
  }
}
