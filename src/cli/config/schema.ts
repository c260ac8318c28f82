import { fileJsonSchema } from '../../config/json-schema.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';

export async function runSchema({ io }: Invocation): Promise<ExitCode> {
  io.out(`${JSON.stringify(fileJsonSchema(), null, 2)}\n`);
  return exitCodes.done;
}
