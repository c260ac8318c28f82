import type { AskFailure } from '../../actors/asks/asks.ts';
import type { ClusterCommand, ClusterRejection, ClusterReply, UpdateNamespace } from '../../cluster/cluster-commands.ts';
import * as wire from '../../wire/generated/peer/cluster.ts';
import { asCore, asMessage } from '../../wire/as-core.ts';
import { askFailureCodecs, bare, plain, UnionCodec, wordOf, type KindCodecs } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';

const namespaceStates: Words<NonNullable<UpdateNamespace['state']>> = words('registered deprecated');

const requestCodecs: KindCodecs<ClusterCommand> = {
  registerNamespace: plain(1, 'registerNamespace', wire.writeRegisterNamespace, wire.readRegisterNamespace),
  updateNamespace: {
    field: 2,
    write: (w, request) => wire.writeUpdateNamespace(w, { ...asMessage(request), data: request.data && { entries: request.data } }),
    read: (r) => {
      const request = wire.readUpdateNamespace(r);
      const state = request.state === undefined ? undefined : wordOf(namespaceStates, request.state, 'UpdateNamespace.state');
      return asCore<UpdateNamespace>({ ...request, kind: 'updateNamespace', data: request.data?.entries, state });
    },
  },
  addSearchAttributes: plain(3, 'addSearchAttributes', wire.writeAddSearchAttributes, wire.readAddSearchAttributes),
  removeSearchAttributes: plain(4, 'removeSearchAttributes', wire.writeRemoveSearchAttributes, wire.readRemoveSearchAttributes),
  initializeCluster: plain(5, 'initializeCluster', wire.writeInitializeCluster, wire.readInitializeCluster),
  syncCluster: bare(6, 'syncCluster'),
  addDeadLetterQueue: plain(8, 'addDeadLetterQueue', wire.writeAddDeadLetterQueue, wire.readAddDeadLetterQueue),
  deleteNamespace: plain(9, 'deleteNamespace', wire.writeDeleteNamespace, wire.readDeleteNamespace),
  endNamespace: plain(10, 'endNamespace', wire.writeEndNamespace, wire.readEndNamespace),
  purgeSearchAttributes: plain(7, 'purgeSearchAttributes', wire.writePurgeSearchAttributes, wire.readPurgeSearchAttributes),
};

const rejectionReasons: Words<ClusterRejection['reason']> = words(
  'namespace-exists namespace-not-found invalid-argument failed-precondition resource-exhausted',
);

const answerCodecs: KindCodecs<ClusterReply | AskFailure> = {
  ...askFailureCodecs,
  rejected: {
    field: 1,
    write: (w, { rejection }) => wire.writeClusterRejection(w, rejection),
    read: (r) => {
      const { reason, message } = wire.readClusterRejection(r);
      return { kind: 'rejected', rejection: { reason: wordOf(rejectionReasons, reason, 'ClusterRejection.reason'), message } };
    },
  },
  done: bare(2, 'done'),
};

export const clusterAsks = {
  requests: new UnionCodec<ClusterCommand>('ask of the cluster', requestCodecs),
  answers: new UnionCodec<ClusterReply | AskFailure>('answer of the cluster', answerCodecs),
};
