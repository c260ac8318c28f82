/**
 * The folder of this installation, with `package.json` and `node_modules`. It is two folders above this file in both forms of the program:
 * src/kernel/home.ts, and dist/program/….js, which scripts/bundle.ts made.
 */
export const home = new URL('../../', import.meta.url);
