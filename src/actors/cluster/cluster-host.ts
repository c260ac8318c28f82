/**
 * The cluster actor: namespaces, search attributes and the token key, in the one partition of `<prefix>.cluster`.
 *
 * Two folds of one journal: the core's, which decides and may be ahead of the log, and `view`, which the rest of the process reads and
 * which holds committed records only. An answer leaves after both have them, so whoever registered a namespace can use it at once.
 */
import { ClusterCore } from '../../cluster/cluster-core.ts';
import { ClusterState, type ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { ClusterCommand } from '../../cluster/commands.ts';
import type { ClusterRecord } from '../../cluster/records.ts';
import type { ClusterReply } from '../../cluster/replies.ts';
import { PartitionActor, type ActorOptions } from '../partition/partition-actor.ts';
import type { PartitionMemory } from '../partition/partition-core.ts';
import type { ReplySink } from '../asks/switchboard.ts';

type Memory = PartitionMemory<ClusterCommand, ClusterReply, ClusterRecord, never>;

/** Rare, and small. */
const COMMAND_BYTES = 4096;

export class ClusterHost {
  readonly actor: PartitionActor<ClusterCommand, ClusterReply, ClusterRecord, never, Memory>;
  #view = new ClusterState();
  #isFolded = false;
  readonly #onRemoved: () => void;

  /** `onRemoved`: search attributes or namespaces are, or were before this process took over. */
  constructor(options: ActorOptions<ClusterReply, ClusterRecord>, onRemoved: () => void = () => {}) {
    this.#onRemoved = onRemoved;
    this.actor = new PartitionActor(options, {
      partition: 0,
      logFields: {},
      create: () => this.#create(options.sink),
      scale: { bytesOf: () => COMMAND_BYTES, namespaceOf: () => '', finishesWork: () => false },
    });
  }

  /** What is committed. Another object after a takeover: ask anew, do not keep it. */
  get view(): ClusterSnapshot {
    return this.#view;
  }

  /** `view` is the whole journal as it was once, or later. */
  get isFolded(): boolean {
    return this.#isFolded;
  }

  #create(sink: ReplySink<ClusterReply>): Memory {
    const filling = new ClusterState();
    return {
      core: new ClusterCore(),
      shell: {
        // Until the journal is folded whole, the earlier view is the better one.
        activated: () => {
          this.#view = filling;
          this.#isFolded = true;
          this.#onRemoved();
        },
        deactivated: () => {},
        accepted: () => {},
        // It has no commands of its own.
        undecided: () => {},
        answer: (askId, reply) => sink.answer(askId, reply),
        act: (effect: never) => effect,
      },
      subscribers: [
        filling,
        {
          committed: ({ kind }, _position, replayed) => {
            if (!replayed && (kind === 'searchAttributesRemoved' || kind === 'namespaceDeleted')) this.#onRemoved();
          },
        },
      ],
    };
  }
}
