/**
 * The cluster actor: namespaces, search attributes and the token key, in the one partition of `<prefix>.cluster`.
 *
 * Two folds of one journal: the core's, which decides and may be ahead of the log, and `view`, which the rest of the process reads and
 * which holds committed records only. An answer leaves after both have them, so whoever registered a namespace can use it at once.
 *
 * Changes of a namespace write again all that is said of it. So what counts is written again now and then, and the journal begins there
 * (partition/journal-compaction.ts): a start reads what there is, not all that there was.
 */
import { ClusterCore } from '../../cluster/cluster-core.ts';
import { ClusterState, type ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { CarryCluster, ClusterCommand, ClusterEffect, ClusterReply } from '../../cluster/cluster-commands.ts';
import { recordWeight, type ClusterRecord } from '../../cluster/cluster-records.ts';
import { errorText } from '../../kernel/error-text.ts';
import { LogError } from '../../ports/log.ts';
import { LoopTurns } from '../../ports/loop-turns.ts';
import { JournalCompaction } from '../partition/journal-compaction.ts';
import { PartitionActor, type ActorOptions } from '../partition/partition-actor.ts';
import type { PartitionMemory, Tenure } from '../partition/partition-core.ts';

type Command = ClusterCommand | CarryCluster;
type Memory = PartitionMemory<Command, ClusterReply, ClusterRecord, ClusterEffect> & {
  readonly core: ClusterCore;
  readonly journalStart: number;
};

/** Own commands are rare and small. */
const COMMAND_BYTES = 4096;
const DEAD_BYTES_MIN = 4 * 1024 * 1024;

export class ClusterHost {
  readonly actor: PartitionActor<Command, ClusterReply, ClusterRecord, ClusterEffect, Memory>;
  /** What is committed. Another object after a takeover: ask anew, do not keep it. */
  view: ClusterSnapshot = new ClusterState();
  /** `view` is the whole journal as it was once, or later. */
  isFolded = false;
  readonly #onRemoved: () => void;

  /** `onRemoved`: search attributes or namespaces are, or were before this process took over. */
  constructor(options: ActorOptions<ClusterReply, ClusterRecord>, onRemoved: () => void = () => {}) {
    this.#onRemoved = onRemoved;
    this.actor = new PartitionActor(options, {
      partition: 0,
      logFields: {},
      create: (tenure, journalStart) => this.#create(options, tenure, journalStart),
      mayLack: 'beginning',
      scale: { bytesOf: () => COMMAND_BYTES, namespaceOf: () => '', finishesWork: () => false },
    });
  }

  /** Where its journal may begin: what stands before that was written again, as was found where it began there already. Infinity: nobody knows now. */
  get journalStartMax(): number {
    const { memory } = this.actor;
    return memory === undefined || this.actor.status().state !== 'active' ? Infinity : Math.max(memory.core.cut, memory.journalStart);
  }

  #create(options: ActorOptions<ClusterReply, ClusterRecord>, tenure: Tenure<Command>, journalStart: number): Memory {
    const filling = new ClusterState(journalStart);
    const core = new ClusterCore(journalStart);
    const { turns = new LoopTurns(options.clock) } = options;
    const compaction: JournalCompaction<Command, ClusterRecord> = new JournalCompaction({
      ...options,
      partition: { topic: options.topic, partition: 0 },
      tenure,
      journal: 'the cluster',
      cut: () => core.cut,
      weigh: recordWeight,
      kept: () => weighed(core, turns),
      deadMin: DEAD_BYTES_MIN,
      carry: (cut, isFirst) => ({ kind: 'carryCluster', cut, isFirst }),
    });
    return {
      core,
      journalStart,
      recordsLost: () => {
        const { lacking } = core;
        if (lacking !== undefined) throw new LogError('corrupt', lacking);
      },
      shell: {
        // Until the journal is folded whole, the earlier view is the better one.
        activated: () => {
          this.view = filling;
          this.isFolded = true;
          this.#onRemoved();
          compaction.activated();
        },
        undecided: (_askId, command, error) => {
          if (command.kind === 'carryCluster') compaction.failed(errorText(error));
        },
        answer: (askId, reply) => options.sink.answer(askId, reply),
        act: ({ cut, isAll }) => compaction.carried(cut, isAll),
      },
      subscribers: [
        filling,
        compaction,
        {
          committed: ({ kind }, _position, replayed) => {
            if (!replayed && (kind === 'searchAttributesRemoved' || kind === 'namespaceDeleted')) this.#onRemoved();
          },
        },
      ],
    };
  }
}

/** There may be more than a hundred thousand namespaces. */
async function weighed(core: ClusterCore, turns: LoopTurns): Promise<number> {
  let weight = 0;
  const steps = function* (): Generator<void, void> {
    for (weight of core.weigh()) yield;
  };
  await turns.through(steps());
  return weight;
}
