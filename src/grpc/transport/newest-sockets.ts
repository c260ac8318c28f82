import type { Socket } from 'node:net';

/** Over the limit the oldest is closed: who lets many hang loses his own first, and a load balancer's probe is still answered. */
export class NewestSockets {
  readonly #max: number;
  readonly #sockets = new Set<Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#sockets.size <= this.#max) return;
    const [oldest] = this.#sockets;
    if (oldest === undefined) return;
    this.#sockets.delete(oldest);
    oldest.destroy();
  }

  delete(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
