/** Fields that ask for what is not built: refused by name, never ignored. */
import type { WorkflowCommand } from '../workflow-commands.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';

export function notBuiltField(commands: readonly WorkflowCommand[]): string | undefined {
  for (const command of commands) {
    if (command.type !== 'continueAsNewWorkflowExecution' && command.type !== 'startChildWorkflowExecution') continue;
    const where = `${pascalCase(command.type)}CommandAttributes`;
    if (command.attributes?.retryPolicy !== undefined) return `${where}.retry_policy`;
    if (command.attributes !== undefined && command.attributes.cronSchedule !== '') return `${where}.cron_schedule`;
  }
  return undefined;
}
