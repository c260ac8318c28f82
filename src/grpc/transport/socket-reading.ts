import type { Socket } from 'node:net';

/**
 * Lets a socket that HTTP/2 reads wait, and go on. Node's session reads the handle of its socket by itself, up to 2 MiB in one turn of the event loop, and
 * `pause` of the socket has no say in that: the handle has. It hands over 64 KiB at a time; what it has handed over is dealt with to its end.
 */
export function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop();
}

/** While a write is under way the session has stopped its socket itself, so that nobody asks who reads no answers; behind the write it goes on. */
export function startReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle?.writeQueueSize === 0) handle.readStart();
}

type Handle = { readStop(): void; readStart(): void; readonly writeQueueSize: number };

/** undefined: the socket is closed. */
function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = '_handle' in socket ? socket._handle : undefined;
  return isHandle(handle) ? handle : undefined;
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'readStop' in value && 'readStart' in value && 'writeQueueSize' in value;
}
