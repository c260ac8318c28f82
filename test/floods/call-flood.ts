/** What flood programs of calls share: so many of a kind under way all the time, on one connection, and lines that say what came of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { GrpcConnection } from '../bench/grpc-connection.ts';

export const namespace = 'flood';

/** Of all that this program has called. */
const counts = { answered: 0, refused: 0 };

/** Calls of which `underWay` are under way at any time; the next one begins when any is answered, however it is. Never ends. */
export async function callForEver(address: string, method: string, underWay: number, request: () => Uint8Array): Promise<void> {
  const connection = await GrpcConnection.connect(address);
  const tell = (): void => console.log(`${counts.answered} answered, ${counts.refused} refused`);
  const lane = async (): Promise<void> => {
    for (;;) {
      await connection.call(method, request(), 30).then(
        () => counts.answered++,
        () => counts.refused++,
      );
    }
  };
  const lanes = Array.from({ length: underWay }, lane);
  // It has begun when some are answered: by then the others are under way.
  while (counts.answered + counts.refused === 0) await delay(10);
  tell();
  setInterval(tell, 500);
  await Promise.all(lanes);
}
