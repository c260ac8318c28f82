import type { Socket } from 'node:net';

const http2Preface = 'PRI * HTTP/2.0\r\n';
const http1Methods = ['GET ', 'HEAD ', 'POST ', 'PUT ', 'DELETE ', 'OPTIONS ', 'PATCH ', 'CONNECT ', 'TRACE '];

export type Protocol = 'http2' | 'http1' | 'other';

/** Hands a fresh socket, with all its bytes, to the server of its protocol. One that says nothing in time, or nothing sensible, is closed. */
export function sniffProtocol(socket: Socket, timeoutMs: number, decided: (protocol: 'http2' | 'http1') => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const onError = (): void => void socket.destroy();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable);
    socket.off('close', stop);
    socket.off('error', onError);
  };
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    stop();
    if (protocol === 'other') {
      socket.destroy();
      return;
    }
    socket.unshift(seen);
    decided(protocol);
  };
  socket.on('readable', onReadable);
  socket.on('close', stop);
  socket.on('error', onError);
}

/** Undefined while the first bytes could still be either. */
function protocolOf(bytes: Buffer): Protocol | undefined {
  const start = bytes.toString('latin1', 0, http2Preface.length);
  if (start === http2Preface) return 'http2';
  if (http1Methods.some((method) => start.startsWith(method))) return 'http1';
  const undecided = http2Preface.startsWith(start) || http1Methods.some((method) => method.startsWith(start));
  return undecided ? undefined : 'other';
}
