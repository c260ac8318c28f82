/**
 * A random program as a list of what it asked of its shard, and when: the same list makes every other shard do the same, because a core
 * decides by state, command and time alone. Beside each entry stands the state that the plain core had after it.
 */
import type { HistoryCommand, RunKey } from '../../src/history/commands.ts';
import type { HistoryReply } from '../../src/history/replies.ts';
import { Program } from '../history/random-program.ts';
import type { ProgramStep } from '../history/random-program.ts';
import { ShardUnderTest } from '../history/shard-under-test.ts';

export const scriptLimits = { retentionMsDefault: 3_600_000 } as const;

export type ScriptEntry = {
  readonly nowMs: number;
  readonly act:
    | { readonly kind: 'command'; readonly askId: number; readonly command: HistoryCommand }
    /** Volatile only: it goes past the mailbox, as updates will. */
    | { readonly kind: 'offerSpeculative'; readonly key: RunKey };
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
    const { core } = this;
    const offer = core.offerSpeculativeWorkflowTask.bind(core);
    core.offerSpeculativeWorkflowTask = (key, nowMs) => {
      const offered = offer(key, nowMs);
      this.script.push({ nowMs, act: { kind: 'offerSpeculative', key }, stateAfter: core.canonicalState() });
      return offered;
    };
  }

  override ask(command: HistoryCommand): HistoryReply | undefined {
    const reply = super.ask(command);
    const act = { kind: 'command', askId: this.lastAskId, command } as const;
    this.script.push({ nowMs: this.nowMs, act, stateAfter: this.core.canonicalState() });
    return reply;
  }
}
