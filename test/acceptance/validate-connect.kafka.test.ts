/** `perdure config validate --connect` against a real broker: in with the right settings, and told what is wrong with the others. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { Child } from '../cli/child.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { withFolder } from '../support/servers.ts';

const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('connecting to Kafka', kafka.missing);
else connecting(kafka.brokers);

function connecting(brokers: readonly string[]): void {
  async function validate(more: string): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
    return await withFolder(async (folder) => {
      const file = join(folder, 'server.yaml');
      writeFileSync(file, `perdure: {kafka: {brokers: ${JSON.stringify(brokers)}${more}}}\n`);
      const child = new Child(bin, ['config', 'validate', '--connect', file]);
      const { code } = await child.exit;
      return { code, out: child.out, err: child.err };
    });
  }

  describe('config validate --connect', () => {
    test('says that a broker lets us in, and where the cluster says that it is', async () => {
      const { code, out, err } = await validate('');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      for (const broker of brokers) expect(out).toContain(`${broker}: ok, a cluster of `);
    });

    test.each([
      {
        name: 'a login at a listener without one',
        more: ', sasl: {mechanism: plain, username: u, password: p}',
        key: 'perdure.kafka.sasl',
      },
      { name: 'TLS at a plaintext listener', more: ', tls: true', key: 'perdure.kafka.tls' },
    ])('$name: exit code 1, and the key that mends it', async ({ more, key }) => {
      const { code, err } = await validate(more);
      expect(code).toBe(1);
      for (const broker of brokers) expect(err).toMatch(new RegExp(`^${broker}: .*${key}`, 'm'));
    });
  });
}
