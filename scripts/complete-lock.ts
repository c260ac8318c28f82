/**
 * Completes package-lock.json for machines unlike the one that wrote it.
 *
 * A package with native code lists one optional package per platform. npm leaves those out of the lock file that the registry in use
 * did not offer when it was written (a mirror that carries Linux only, say), and then `npm ci` refuses that very file: "Missing: …
 * from lock file". What is needed to decide that such a package is not for this machine is its name: that is what is filled in here.
 *
 *     node scripts/complete-lock.ts           after every npm install
 *     node scripts/complete-lock.ts --check   prints what is missing; exit code 1
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

type LockedPackage = { readonly dev?: boolean; readonly optionalDependencies?: Readonly<Record<string, string>> } & Readonly<
  Record<string, unknown>
>;
type LockFile = { packages: Record<string, LockedPackage> };

const platform =
  /[-/](android|darwin|freebsd|linux|openharmony|win32)-(arm64|arm|ia32|ppc64|riscv64|s390x|x64)(?:-(gnu|gnueabihf|musl|musleabihf|msvc|eabi))?$/;

/** Entries that the lock file lacks, by their place in node_modules. */
export function missingEntries(lock: LockFile): Map<string, LockedPackage> {
  const missing = new Map<string, LockedPackage>();
  for (const [place, locked] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(locked.optionalDependencies ?? {})) {
      if (`${place}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages) continue;
      missing.set(`node_modules/${name}`, entryOf(name, version, locked.dev === true));
    }
  }
  return missing;
}

function entryOf(name: string, version: string, dev: boolean): LockedPackage {
  const [, os, cpu, flavour] = platform.exec(name) ?? [];
  if (os === undefined || cpu === undefined)
    throw new Error(`${name}: its name does not tell its platform; add it to package-lock.json by hand`);
  if (!/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${name}@${version} is a range; add the package to package-lock.json by hand`);
  const libc = os !== 'linux' || flavour === undefined ? {} : { libc: [flavour.startsWith('musl') ? 'musl' : 'glibc'] };
  return { version, cpu: [cpu], ...(dev ? { dev } : {}), ...libc, optional: true, os: [os] };
}

function main(): void {
  const file = fileURLToPath(new URL('../package-lock.json', import.meta.url));
  const lock = JSON.parse(readFileSync(file, 'utf8')) as LockFile;
  const missing = missingEntries(lock);
  if (process.argv.includes('--check')) {
    for (const place of missing.keys()) console.log(`missing from package-lock.json: ${place}; run node scripts/complete-lock.ts`);
    process.exitCode = missing.size === 0 ? 0 : 1;
    return;
  }
  const entries = Object.entries({ ...lock.packages, ...Object.fromEntries(missing) });
  lock.packages = Object.fromEntries(entries.toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`added ${missing.size} entries`);
}

if (import.meta.main) main();
