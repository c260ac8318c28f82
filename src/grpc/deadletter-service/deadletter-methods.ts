import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import { auditMethods } from './audit.ts';
import { groupMethods } from './groups.ts';
import { jobMethods } from './jobs.ts';
import { letterMethods } from './letters.ts';
import { planMethods } from './plans.ts';
import { restoreMethods } from './restore.ts';
import { putMethods } from './put-letters.ts';
import { queueListMethods } from './queue-list.ts';

/** Loaded by the first call of DeadLetterService, with all that it imports. */
export function deadLetterServiceMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    ...queueListMethods(context),
    ...letterMethods(context),
    ...groupMethods(context),
    ...planMethods(context),
    ...jobMethods(context),
    ...auditMethods(context),
    ...restoreMethods(context),
    ...putMethods(context),
  ];
}
