import { fileJsonSchema } from '../../config/json-schema.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';

export async function runSchema({ io }: Invocation): Promise<ExitCode> {
  io.out(`${JSON.stringify(fileJsonSchema(), null, 2)}\n`);
  return exitCodes.done;
}
