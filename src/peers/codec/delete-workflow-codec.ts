import type { DeleteWorkflow } from '../../history/commands/history-commands.ts';
import { readDeleteWorkflow, writeDeleteWorkflow } from '../../wire/generated/peer/history.ts';
import type { KindCodec } from './union-codec.ts';

export const deleteWorkflowCodec: KindCodec<DeleteWorkflow> = {
  field: 23,
  write: (w, { key, isPurge = false }) => writeDeleteWorkflow(w, { key, isPurge }),
  read: (r) => {
    const { key, isPurge } = readDeleteWorkflow(r);
    return { kind: 'deleteWorkflow', key, ...(isPurge ? { isPurge } : {}) };
  },
};
