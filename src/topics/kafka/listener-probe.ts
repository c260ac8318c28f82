/**
 * Finds out what a Kafka listener expects, when a start could not talk to it. A broker that expects TLS, or a login, closes a connection
 * that comes without it, and says nothing.
 *
 *     SaslHandshake in the clear ─▶ answered: no TLS        error 34: asks for no login
 *         │ closed, or silence                              error 33: asks for one, and names its mechanisms
 *         ▼
 *     the same within TLS ───────▶ answered: TLS            likewise
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WireReader, WireWriter } from './wire.ts';

export type ListenerKind = {
  readonly transport: 'plaintext' | 'tls';
  /** The mechanisms of the login that it asks for, as Kafka writes them; undefined when it asks for none. */
  readonly mechanisms: readonly string[] | undefined;
};

const timeoutMsDefault = 2_000;
const answerBytesMax = 64 * 1024;
const correlationId = 7_233;
const illegalSaslState = 34;

/** Undefined when it is no listener of a broker that we understand. Never rejects. */
export async function probeListener(host: string, port: number, timeoutMs = timeoutMsDefault): Promise<ListenerKind | undefined> {
  const clear = await handshake(connectTcp({ host, port }), timeoutMs);
  if (clear !== undefined) return { transport: 'plaintext', ...clear };
  // The certificate need not be trusted: nothing secret is sent.
  const secret = await handshake(connectTls({ host, port, rejectUnauthorized: false }), timeoutMs);
  return secret === undefined ? undefined : { transport: 'tls', ...secret };
}

function handshake(socket: Socket, timeoutMs: number): Promise<Pick<ListenerKind, 'mechanisms'> | undefined> {
  return new Promise((resolve) => {
    const answer: Buffer[] = [];
    const end = (found: Pick<ListenerKind, 'mechanisms'> | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(found);
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    socket.on('error', () => end(undefined));
    socket.on('close', () => end(undefined));
    socket.on('data', (chunk) => {
      answer.push(chunk);
      const bytes = Buffer.concat(answer);
      if (bytes.length > answerBytesMax) end(undefined);
      else if (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) end(readAnswer(bytes));
    });
    // Within TLS this waits for the handshake.
    socket.write(saslHandshakeRequest());
  });
}

/** SaslHandshake v1 for a mechanism that nobody has: size · api key · version · correlation id · client id · mechanism. */
function saslHandshakeRequest(): Buffer {
  const [client, mechanism] = ['perdure', 'NONE'];
  const size = 2 + 2 + 4 + 2 + client.length + 2 + mechanism.length;
  const writer = new WireWriter(4 + size);
  writer.int32(size);
  writer.int16(17);
  writer.int16(1);
  writer.int32(correlationId);
  writer.string(client);
  writer.string(mechanism);
  return writer.bytes;
}

function readAnswer(bytes: Buffer): Pick<ListenerKind, 'mechanisms'> | undefined {
  try {
    const reader = new WireReader(bytes);
    reader.int32();
    if (reader.int32() !== correlationId) return undefined;
    const errorCode = reader.int16();
    return { mechanisms: errorCode === illegalSaslState ? undefined : reader.array(() => reader.string()) };
  } catch {
    // Not a Kafka broker: its answer has another form.
    return undefined;
  }
}
