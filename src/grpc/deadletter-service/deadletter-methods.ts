import { codecs } from '../../wire/generated/api/deadletter/service.ts';
import { requestLimits } from '../../wire/wire-limits.ts';
import { methodsOf } from '../method.ts';
import { auditHandlers } from './audit.ts';
import { groupHandlers } from './groups.ts';
import { jobHandlers } from './jobs.ts';
import { letterHandlers } from './letters.ts';
import { planHandlers } from './plans.ts';
import { putHandlers } from './put-letters.ts';
import { queueHandlers } from './queue-list.ts';

/** More ids than may be asked for can be read, so that whoever sends them is told so in the words of their field. */
const limits = { ...requestLimits, repeatedElementsMax: 50_000 };

export const deadLetterServiceMethods = methodsOf(
  codecs,
  { ...queueHandlers, ...letterHandlers, ...groupHandlers, ...planHandlers, ...jobHandlers, ...auditHandlers, ...putHandlers },
  limits,
);
