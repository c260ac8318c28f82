import type { ServerHttp2Session } from 'node:http2';
import { expect, test } from 'vitest';
import { KeptBytes } from '../../src/grpc/transport/kept-bytes.ts';

function connection(): ServerHttp2Session & { destroyed: boolean } {
  const session = {
    destroyed: false,
    destroy: () => {
      session.destroyed = true;
    },
  };
  return session as ServerHttp2Session & { destroyed: boolean };
}

test('a call that finishes on a connection that is gone leaves no room for others', () => {
  const kept = new KeptBytes(1000, (session) => session.destroy());
  const session = connection();
  const gone = kept.open(session);
  kept.add(gone, 100);
  session.destroyed = true;
  kept.add(gone, 5000);
  kept.remove(gone, 5000);
  kept.remove(gone, 100);
  const other = connection();
  const bytes = kept.open(other);
  kept.add(bytes, 1000);
  expect(other.destroyed).toBe(false);
  kept.add(bytes, 1);
  expect(other.destroyed).toBe(true);
});
