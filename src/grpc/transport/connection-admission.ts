import type { Socket } from 'node:net';
import type { LimitHits } from './limit-hits.ts';
import type { TransportLimits } from './limits.ts';

/** Counts the connections of clients, of each address and in all. What asks for the health of the server never comes here. */
export class ConnectionAdmission {
  readonly #limits: Pick<TransportLimits, 'connectionsMax' | 'connectionsPerAddressMax'>;
  readonly #hits: LimitHits;
  #open = 0;
  readonly #ofAddress = new Map<string, number>();

  constructor(limits: Pick<TransportLimits, 'connectionsMax' | 'connectionsPerAddressMax'>, hits: LimitHits) {
    this.#limits = limits;
    this.#hits = hits;
  }

  /** False: there is no room for it. */
  admit(socket: Socket): boolean {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#ofAddress.get(address) ?? 0;
    if (this.#open >= connectionsMax) {
      this.#hits.hit('connections', connectionsMax, address);
      return false;
    }
    if (ofAddress >= connectionsPerAddressMax) {
      this.#hits.hit('connections_of_address', connectionsPerAddressMax, address);
      return false;
    }
    this.#open++;
    this.#ofAddress.set(address, ofAddress + 1);
    socket.once('close', () => {
      this.#open--;
      const left = (this.#ofAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#ofAddress.delete(address);
      else this.#ofAddress.set(address, left);
    });
    return true;
  }
}
