import type { RunningServer, ServerOptions } from '../../src/config/server-options.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { startServer } from '../../src/server.ts';

/** A whole server in this process, as small as can be, whose journals are in memory. */
export function memoryServer(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  return startServer({
    host: '127.0.0.1',
    port: 0,
    log: { kind: 'embedded', filename: undefined, sqlitePragmas: [] },
    historyShards: 1,
    matchingPartitions: 1,
    taskQueuePartitions: 1,
    namespaces: ['default'],
    searchAttributes: new Map(),
    dynamicConfig: new Map(),
    clusterName: 'active',
    logger: silentLogger,
    startMsMax: 30_000,
    onFatal: (error) => {
      throw error;
    },
    ...options,
  });
}
