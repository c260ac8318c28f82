/** RECORD_MARKER: local activities, side effects, versions and whatever else an SDK wants to find again on replay. */
import { utf8Bytes } from '../../kernel/utf8.ts';
import { bad, commandMeta, type CommandFailure, type CommandOfType, type Completion, exceedsId, tooLarge } from '../steps/completion.ts';

const cause = 'badRecordMarkerAttributes';

export function recordMarker(completion: Completion, command: CommandOfType<'recordMarker'>): CommandFailure | undefined {
  const a = command.attributes;
  const { limits } = completion.run.draft;
  if (a === undefined) return bad(cause, 'RecordMarkerCommandAttributes is not set on RecordMarkerCommand.');
  if (a.markerName === '') return bad(cause, 'MarkerName is not set on RecordMarkerCommand.');
  if (exceedsId(completion, a.markerName)) {
    const lengths = `Length=${utf8Bytes(a.markerName)} Limit=${limits.idBytesMax}`;
    return bad(cause, `MarkerName on RecordMarkerCommand exceeds length limit. MarkerName=${a.markerName} ${lengths}`);
  }
  let bytes = 0;
  for (const [name, payloads] of a.details) bytes += name.length + payloads.length;
  if (bytes > limits.blobBytesMax) return tooLarge(cause, 'RecordMarkerCommandAttributes.Details exceeds size limit.');
  const { markerName, details, header, failure } = a;
  const attributes = { markerName, details, workflowTaskCompletedEventId: completion.completedEventId, header, failure };
  completion.run.add('markerRecorded', attributes, commandMeta(command));
  return undefined;
}
