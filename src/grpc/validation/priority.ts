import { priorityProblem } from '../../kernel/priority.ts';
import { decodePriority } from '../../wire/generated/lean/common.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque } from './opaque.ts';

/** It is passed on as it is; a value that no queue could use is refused here. */
export function checkPriority(bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  checkOpaque(bytes, 'priority');
  const problem = priorityProblem(decodePriority(bytes));
  if (problem !== undefined) throw invalidArgument(problem);
}
