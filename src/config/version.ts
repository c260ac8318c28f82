import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { home } from '../kernel/home.ts';

/** The release of the public API whose messages we were built against (temporalio/api). */
export const temporalApiVersion = '1.63';

let cached: string | undefined;

/** Our own version, from package.json: one place to change at a release. */
export function perdureVersion(): string {
  cached ??= readVersion();
  return cached;
}

let cachedBuild: string | undefined;

/** `0.1.0+3f0c6a8e`: the first file of the bundle names all others by what is in them. Of sources that may be edited: `0.1.0+sources`. */
export function perdureBuild(): string {
  cachedBuild ??= `${perdureVersion()}+${fingerprint()}`;
  return cachedBuild;
}

function fingerprint(): string {
  if (import.meta.url.endsWith('.ts')) return 'sources';
  return createHash('sha256')
    .update(readFileSync(new URL('dist/program/main.js', home)))
    .digest('hex')
    .slice(0, 8);
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', home), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string')
    return manifest.version;
  throw new Error('package.json has no version: the installation is damaged, run npm ci');
}

/** `24.21`: the patch does not matter to anybody who reads a banner. */
export function nodeMajorMinor(): string {
  return process.versions.node.split('.').slice(0, 2).join('.');
}
