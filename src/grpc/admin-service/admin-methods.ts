import { errorText } from '../../kernel/error-text.ts';
import { loadPublicMessages, loadServiceMessages } from '../../wire/services.ts';
import { WireError, WireLimitError } from '../../wire/wire-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { type Codec, type NamedMethod, type RpcName, unary } from '../method.ts';
import type { AdminContext, AdminHandler, AdminHandlers, Host, RequestClass, ResponseClass } from './admin-context.ts';
import { clusterHandlers } from './cluster.ts';
import { deadLetterJobHandlers } from './dead-letter-jobs.ts';
import { deadLetterHandlers } from './dead-letters.ts';
import { mutableStateHandlers } from './mutable-state.ts';
import { namespaceHandlers } from './namespaces.ts';
import { replicationDeadLetterHandlers } from './replication-dead-letters.ts';
import { replicationTaskHandlers } from './replication-tasks.ts';
import { addTasksBytesMax, shardTaskHandlers } from './shard-tasks.ts';

const handlers: AdminHandlers = {
  ...clusterHandlers,
  ...shardTaskHandlers,
  ...mutableStateHandlers,
  ...namespaceHandlers,
  ...deadLetterHandlers,
  ...deadLetterJobHandlers,
  ...replicationDeadLetterHandlers,
  ...replicationTaskHandlers,
};

/** Names, ids and page tokens: the largest honest request has some kilobytes. Beyond it nothing is decoded, for bytes become many objects. */
const requestBytesMax = 256 * 1024;

export async function adminMethods(context: HandlerContext, host: () => Host): Promise<readonly NamedMethod[]> {
  const messages = await loadServiceMessages();
  const publicMessages = await loadPublicMessages();
  const admin: AdminContext = { context, host, messages, publicMessages };
  const classes = new Map<string, unknown>(Object.entries(messages.adminservice.v1));
  return Object.entries<AdminHandler<never, unknown>>(handlers).map(([name, handle]) =>
    unary(name as RpcName, codecOf(classes, name), (request, call) => handle(admin, request as never, call)),
  );
}

function codecOf(classes: ReadonlyMap<string, unknown>, name: string): Codec<object, unknown> {
  const requestClass = classes.get(`${name}Request`) as RequestClass<object>;
  const responseClass = classes.get(`${name}Response`) as ResponseClass<unknown>;
  const bytesMax = name === 'AddTasks' ? addTasksBytesMax : requestBytesMax;
  return {
    decode: (bytes) => {
      if (bytes.length > bytesMax) throw new WireLimitError(`${bytes.length} vs. ${bytesMax}`);
      try {
        return requestClass.decode(bytes);
      } catch (error) {
        throw new WireError(errorText(error));
      }
    },
    encode: (answer) => responseClass.encode(answer).finish(),
  };
}
