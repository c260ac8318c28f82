import { Client, Connection } from '@temporalio/client';

/** A client of Temporal's, for as long as it is used. */
export async function withClient<T>(address: string, use: (client: Client) => Promise<T>, namespace = 'default'): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}
