import type { ServerOptions } from '../config/server-options.ts';
import { listen } from '../grpc/transport/listener.ts';
import { asError } from '../kernel/error-text.ts';
import { exposition } from '../observability/metrics/exposition.ts';
import { MetricsPage } from '../observability/metrics/metrics-page.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';

export type ScrapeListener = { readonly port: number; stop(): Promise<void> };

/** Scrapes are few: more connections than these are somebody's mistake. */
const connectionsMax = 100;

/** The port of the metrics, where one is asked for. Rejects when it cannot be had. */
export async function listenForScrapes(
  { metrics: options, logger }: ServerOptions,
  registry: MetricsRegistry | undefined,
): Promise<ScrapeListener | undefined> {
  if (options === undefined || registry === undefined) return undefined;
  const page = new MetricsPage(options.path, () => exposition(registry, options.naming), logger);
  let open = 0;
  try {
    const listener = await listen({
      host: options.host,
      port: options.port,
      onSocket: (socket) => {
        if (open === connectionsMax) {
          socket.destroy();
          return;
        }
        open++;
        socket.once('close', () => open--);
        page.accept(socket);
      },
    });
    return {
      port: listener.port,
      stop: async () => {
        await listener.close();
        page.stop();
      },
    };
  } catch (error) {
    throw new Error(`metrics: ${asError(error).message}`, { cause: asError(error).cause });
  }
}
