import type { DeclaredMethods } from '../../wire/generated/declared-methods.ts';
import { rpcService, type Row } from './rpc.ts';

const name = 'perdure.api.deadletter.v1.DeadLetterService';
const served = { scope: 'cluster', access: 'admin', module: 'deadletters' } as const;

const rows = {
  ListDeadLetterQueues: served,
  ListDeadLetters: served,
  CountDeadLetters: served,
  GetDeadLetter: served,
  GroupDeadLetters: served,
  PlanDeadLetters: served,
  ApplyPlan: served,
  DescribeJob: served,
  ListJobs: served,
  PauseJob: served,
  ResumeJob: served,
  CancelJob: served,
  UpdateJob: served,
  RestoreDeadLetters: served,
  ListAuditEntries: served,
  PutDeadLetters: served,
} as const satisfies Record<DeclaredMethods[typeof name], Row>;

export const deadLetterRpcs = rpcService(name, rows);
