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
  const gone = connection();
  kept.add(gone, 100);
  gone.destroyed = true;
  kept.add(gone, 5000);
  kept.remove(gone, 5000);
  kept.remove(gone, 100);
  const other = connection();
  kept.add(other, 1000);
  expect(other.destroyed).toBe(false);
  kept.add(other, 1);
  expect(other.destroyed).toBe(true);
});
