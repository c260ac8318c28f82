/** The folder of this installation: two above this file in both forms of the program, src/kernel/home.ts and dist/program/….js. */
export const home = new URL('../../', import.meta.url);
