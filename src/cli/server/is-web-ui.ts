/** Without `import`, because the module form loads Node's fetch, which takes longer than this check. */
const httpModule = () => process.getBuiltinModule('node:http');

const LOOK_MS_MAX = 1_000;
/** The settings of the UI are well below 1 KiB. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** Whether Temporal's web UI, by the names of its settings, listens on that port. Never rejects; no answer in a second: false. */
export async function isWebUi(port: number, stopped: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(LOOK_MS_MAX)]);
  const request = httpModule().get({ host: '127.0.0.1', port, path: '/api/v1/settings', agent: false, signal }, (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) request.destroy(new Error('an answer without end'));
      else chunks.push(chunk);
    });
    response.on('end', () => resolve(response.statusCode === 200 && areSettings(Buffer.concat(chunks).toString('utf8'))));
    response.on('error', () => resolve(false));
  });
  request.on('error', () => resolve(false));
  // If the answer switches protocols, no other event comes.
  request.on('close', () => resolve(false));
  return await promise;
}

function areSettings(text: string): boolean {
  try {
    const settings = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    const { DefaultNamespace: namespace, ShowTemporalSystemNamespace: shows, Version: version } = settings ?? {};
    return typeof namespace === 'string' && typeof shows === 'boolean' && typeof version === 'string';
  } catch {
    return false;
  }
}
