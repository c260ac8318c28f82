import type { DeclaredMethods } from '../../wire/generated/declared-methods.ts';
import { rowsOf, rpcService, type Row } from './rpc.ts';

const name = 'perdure.api.deadletter.v1.DeadLetterService';
const served = { scope: 'cluster', access: 'admin', module: 'deadletters' } as const;
const each = rowsOf<DeclaredMethods[typeof name]>();

const rows = {
  ...each(served, 'ListDeadLetterQueues', 'ListDeadLetters', 'CountDeadLetters', 'GetDeadLetter', 'GroupDeadLetters', 'PlanDeadLetters'),
  ...each(served, 'ApplyPlan', 'DescribeJob', 'ListJobs', 'PauseJob', 'ResumeJob', 'CancelJob', 'UpdateJob', 'RestoreDeadLetters'),
  ...each(served, 'ListAuditEntries', 'PutDeadLetters'),
} as const satisfies Record<DeclaredMethods[typeof name], Row>;

export const deadLetterRpcs = rpcService(name, rows);
