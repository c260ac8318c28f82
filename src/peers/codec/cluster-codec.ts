/** What the cluster actor is asked, and its answers, as bytes. */
import type { AskFailure } from '../../actors/asks/asks.ts';
import type { ClusterCommand, UpdateNamespace } from '../../cluster/commands.ts';
import type { ClusterRejection, ClusterReply } from '../../cluster/replies.ts';
import * as wire from '../../wire/generated/peer/cluster.ts';
import { askFailureCodecs } from './ask-failure-codec.ts';
import { bare, type KindCodecs, plain, UnionCodec } from './union-codec.ts';
import { type Words, wordOf } from './words.ts';

const namespaceStates: Words<NonNullable<UpdateNamespace['state']>> = { registered: true, deprecated: true };

const requestCodecs: KindCodecs<ClusterCommand> = {
  registerNamespace: {
    field: 1,
    write: (w, { archival, ...request }) => wire.writeRegisterNamespace(w, { ...request, archival }),
    read: (r) => {
      const { archival, ...request } = wire.readRegisterNamespace(r);
      return { ...request, kind: 'registerNamespace', ...(archival === undefined ? {} : { archival }) };
    },
  },
  updateNamespace: {
    field: 2,
    write: (w, { data, archival, ...request }) =>
      wire.writeUpdateNamespace(w, { ...request, archival, data: data === undefined ? undefined : { entries: data } }),
    read: (r) => {
      const { archival, ...request } = wire.readUpdateNamespace(r);
      const state = request.state === undefined ? undefined : wordOf(namespaceStates, request.state, 'UpdateNamespace.state');
      return { ...request, kind: 'updateNamespace', data: request.data?.entries, state, ...(archival === undefined ? {} : { archival }) };
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

const rejectionReasons: Words<ClusterRejection['reason']> = {
  'namespace-exists': true,
  'namespace-not-found': true,
  'invalid-argument': true,
  'failed-precondition': true,
  'resource-exhausted': true,
};

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

const requests = new UnionCodec<ClusterCommand>('ask of the cluster', requestCodecs);
const answers = new UnionCodec<ClusterReply | AskFailure>('answer of the cluster', answerCodecs);
/** Nothing here travels as remaining time. */
const noClock = 0;

export function encodeClusterRequest(request: ClusterCommand): Uint8Array {
  return requests.encode(request, noClock);
}

export function decodeClusterRequest(bytes: Uint8Array): ClusterCommand {
  return requests.decode(bytes, noClock);
}

export function encodeClusterAnswer(answer: ClusterReply | AskFailure): Uint8Array {
  return answers.encode(answer, noClock);
}

export function decodeClusterAnswer(bytes: Uint8Array): ClusterReply | AskFailure {
  return answers.decode(bytes, noClock);
}
