/** UPSERT_WORKFLOW_SEARCH_ATTRIBUTES and MODIFY_WORKFLOW_PROPERTIES: merged key by key; an empty value deletes its key. */
import { memoProblem, mergeFields } from '../run/fields.ts';
import { searchAttributesProblem } from '../../kernel/search-attributes.ts';
import { bad, commandMeta, type CommandFailure, type CommandOfType, type Completion, tooLarge } from '../steps/completion.ts';

export function upsertWorkflowSearchAttributes(
  completion: Completion,
  command: CommandOfType<'upsertWorkflowSearchAttributes'>,
): CommandFailure | undefined {
  const cause = 'badSearchAttributes';
  const { run, request, completedEventId } = completion;
  const { wire, limits } = run.draft;
  const a = command.attributes;
  if (a === undefined) {
    return bad(cause, 'UpsertWorkflowSearchAttributesCommandAttributes is not set on UpsertWorkflowSearchAttributesCommand.');
  }
  if (a.searchAttributes === undefined) return bad(cause, 'SearchAttributes is not set on UpsertWorkflowSearchAttributesCommand.');
  if (wire.fieldCount(a.searchAttributes) === 0) return bad(cause, 'IndexedFields is not set on UpsertWorkflowSearchAttributesCommand.');
  const problem = searchAttributesProblem(a.searchAttributes, request.searchAttributeTypes, run.run.namespace, wire, limits);
  if (problem !== undefined) return bad(cause, problem);
  const merged = mergeFields(run.run.searchAttributes, a.searchAttributes, wire);
  if (merged !== undefined && merged.length > limits.searchAttributesBytesMax) {
    return tooLarge(cause, 'UpsertWorkflowSearchAttributesCommandAttributes exceeds size limit.');
  }
  const excess = excessProblem(completion, merged);
  if (excess !== undefined) return bad(cause, `UpsertWorkflowSearchAttributesCommandAttributes ${excess}`);
  const attributes = { workflowTaskCompletedEventId: completedEventId, searchAttributes: a.searchAttributes };
  run.add('upsertWorkflowSearchAttributes', attributes, commandMeta(command));
  return undefined;
}

export function modifyWorkflowProperties(
  completion: Completion,
  command: CommandOfType<'modifyWorkflowProperties'>,
): CommandFailure | undefined {
  const cause = 'badModifyWorkflowPropertiesAttributes';
  const { run, completedEventId } = completion;
  const { wire, limits } = run.draft;
  const a = command.attributes;
  if (a === undefined) return bad(cause, 'ModifyWorkflowPropertiesCommandAttributes is not set on ModifyWorkflowPropertiesCommand.');
  if (a.upsertedMemo === undefined) return bad(cause, 'UpsertedMemo is not set on ModifyWorkflowPropertiesCommand.');
  if (wire.fieldCount(a.upsertedMemo) === 0) return bad(cause, 'UpsertedMemo.Fields is not set on ModifyWorkflowPropertiesCommand.');
  const where = 'ModifyWorkflowPropertiesCommandAttributes. Memo';
  const ownProblem = memoProblem(a.upsertedMemo, wire, limits);
  if (ownProblem !== undefined) return tooLarge(cause, `${where} ${ownProblem}`);
  const merged = mergeFields(run.run.memo, a.upsertedMemo, wire);
  const mergedProblem = memoProblem(merged, wire, limits);
  if (mergedProblem !== undefined) return tooLarge(cause, `${where} ${mergedProblem}`);
  const excess = excessProblem(completion, merged);
  if (excess !== undefined) return bad(cause, `${where} ${excess}`);
  const attributes = { workflowTaskCompletedEventId: completedEventId, upsertedMemo: a.upsertedMemo };
  run.add('workflowPropertiesModified', attributes, commandMeta(command));
  return undefined;
}

const bytesPerKey = 256;

/** Each change rewrites the whole map, here, in the draft and as an event: thousands of small upserts would block the process for minutes. */
function excessProblem(completion: Completion, merged: Uint8Array | undefined): string | undefined {
  if (merged === undefined) return undefined;
  const { wire, limits } = completion.run.draft;
  completion.upsertedBytes += merged.length + bytesPerKey * wire.fieldCount(merged);
  if (completion.upsertedBytes <= limits.upsertedBytesPerTaskMax) return undefined;
  return `is changed too often in one workflow task: ${limits.upsertedBytesPerTaskMax} bytes may be rewritten.`;
}
