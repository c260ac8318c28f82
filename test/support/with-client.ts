import { Client, Connection } from '@temporalio/client';

/** A client of Temporal's, for as long as it is used. */
export async function withClient<T>(address: string, use: (client: Client) => Promise<T>, namespace = 'default'): Promise<T> {
  const connection = await Connection.connect({ address, channelArgs: ownConnection });
  try {
    return await use(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}

/** Shared, it would wait out the back-off of others whose server was killed. */
const ownConnection = { 'grpc.use_local_subchannel_pool': 1 };
