/**
 * The servers that the scenarios run on. A scenario never learns which one it is on: that one list passes on both logs is the proof that
 * the log is only an adapter.
 *
 * `PERDURE_TEST_ADDRESS=host:port` puts one server that is already running in the place of all of them; this is how the scenarios
 * themselves are proven against Temporal's own dev server.
 */
export type RunningServer = {
  readonly address: string;
  readonly namespace: string;
  stop(): Promise<void>;
};

export type ServerUnderTest = {
  readonly name: string;
  /** Why it cannot be started on this machine; such a server is skipped aloud, and with `CI` set fails. */
  readonly missing: string | undefined;
  start(): Promise<RunningServer>;
};

export function serversUnderTest(): readonly ServerUnderTest[] {
  const address = process.env['PERDURE_TEST_ADDRESS'];
  if (address !== undefined && address !== '') return [runningAt(address)];
  return ourServers();
}

function runningAt(address: string): ServerUnderTest {
  const namespace = process.env['PERDURE_TEST_NAMESPACE'] ?? 'default';
  return { name: `server at ${address}`, missing: undefined, start: async () => ({ address, namespace, stop: async () => {} }) };
}

function ourServers(): readonly ServerUnderTest[] {
  return [];
}
