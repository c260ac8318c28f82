/** Chromium, or a browser made of it, as this machine has it. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** `CHROMIUM` names the program, else the PATH is looked through. */
export async function findChromium(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const named = process.env['CHROMIUM'];
  if (named !== undefined && named !== '') {
    return (await isProgram(named)) ? { program: named } : { missing: `CHROMIUM=${named} is no program` };
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const name of names) {
    for (const folder of folders) if (await isProgram(join(folder, name))) return { program: join(folder, name) };
  }
  return { missing: `no ${names.join(', ')} on the path (Debian: apt-get install chromium)` };
}

async function isProgram(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
