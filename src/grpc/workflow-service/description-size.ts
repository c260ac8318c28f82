/**
 * A description that its caller can receive. A run may have 2,000 activities with 8 MiB of heartbeats and failures, 2,000 children with ids of
 * 1,000 bytes, and a memo of 2 MiB; a gRPC client takes 4 MiB unless it was told otherwise.
 *
 * Shown first is which activities and children are pending, then how their attempts failed, then what their workers said last. What has no
 * room is left out, and a note in the memo says how much of it.
 */
import {
  encodePendingActivityInfo,
  encodePendingChildExecutionInfo,
  type PendingActivityInfo,
  type RequestIdInfo,
  type WorkflowExecutionExtendedInfo,
} from '../../wire/generated/lean/workflow.ts';
import {
  encodeDescribeWorkflowExecutionResponse,
  type DescribeWorkflowExecutionResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { withNote } from './memo-note.ts';

/** What clients receive by default. */
const DESCRIPTION_BYTES_MAX = 4 * 1024 * 1024;
const NOTE_BYTES_MAX = 1024;
/** Tags and lengths around one part, and around the parts that it stands in. */
const FRAME_BYTES_MAX = 16;
/** A request id's event, with its tags. */
const REQUEST_ID_INFO_BYTES_MAX = 32;

/** Encoded here, once: a description may take the processor for milliseconds. */
export function withinAnswer(response: DescribeWorkflowExecutionResponse): Uint8Array {
  const encoded = encodeDescribeWorkflowExecutionResponse(response);
  return encoded.length <= DESCRIPTION_BYTES_MAX ? encoded : encodeDescribeWorkflowExecutionResponse(withRoom(response));
}

function withRoom(response: DescribeWorkflowExecutionResponse): DescribeWorkflowExecutionResponse {
  const extended = response.workflowExtendedInfo;
  const frame = { ...response, pendingActivities: [], pendingChildren: [], workflowExtendedInfo: withRequestIds(extended, []) };
  const room = new Room(DESCRIPTION_BYTES_MAX - NOTE_BYTES_MAX - encodeDescribeWorkflowExecutionResponse(frame).length);

  const activities = room.take('pending activities', response.pendingActivities, (each) => encodePendingActivityInfo(outline(each)).length);
  const pendingChildren = room.take('pending children', response.pendingChildren, (each) => encodePendingChildExecutionInfo(each).length);
  const requestIds = room.take(
    'request ids',
    [...(extended?.requestIdInfos ?? [])],
    ([id]) => Buffer.byteLength(id) + REQUEST_ID_INFO_BYTES_MAX,
  );
  const failures = new Set(room.take('last failures', activities.filter(hasFailure), ({ lastFailure }) => lastFailure?.length ?? 0));
  const heartbeats = new Set(
    room.take('heartbeat details', activities.filter(hasHeartbeat), ({ heartbeatDetails }) => heartbeatDetails?.length ?? 0),
  );
  const pendingActivities = activities.map((activity) => ({
    ...activity,
    lastFailure: failures.has(activity) ? activity.lastFailure : undefined,
    heartbeatDetails: heartbeats.has(activity) ? activity.heartbeatDetails : undefined,
  }));
  const info = response.workflowExecutionInfo;
  const note = `this answer would be larger than ${DESCRIPTION_BYTES_MAX} bytes; left out are ${room.leftOut.join(', ')}`;
  return {
    ...frame,
    pendingActivities,
    pendingChildren,
    workflowExtendedInfo: withRequestIds(extended, requestIds),
    workflowExecutionInfo: info === undefined ? undefined : { ...info, memo: withNote(info.memo, 'PerdureLeftOut', note) },
  };
}

class Room {
  #bytes: number;
  readonly leftOut: string[] = [];

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Those that there is room for. */
  take<Item>(what: string, items: readonly Item[], bytesOf: (item: Item) => number): readonly Item[] {
    const taken = items.filter((item) => {
      const bytes = bytesOf(item) + FRAME_BYTES_MAX;
      if (bytes > this.#bytes) return false;
      this.#bytes -= bytes;
      return true;
    });
    if (taken.length < items.length) this.leftOut.push(`${items.length - taken.length} of ${items.length} ${what}`);
    return taken;
  }
}

function outline(activity: PendingActivityInfo): PendingActivityInfo {
  return { ...activity, lastFailure: undefined, heartbeatDetails: undefined };
}

function hasFailure({ lastFailure }: PendingActivityInfo): boolean {
  return lastFailure !== undefined;
}

function hasHeartbeat({ heartbeatDetails }: PendingActivityInfo): boolean {
  return heartbeatDetails !== undefined;
}

function withRequestIds(
  info: WorkflowExecutionExtendedInfo | undefined,
  entries: readonly (readonly [string, RequestIdInfo])[],
): WorkflowExecutionExtendedInfo | undefined {
  return info === undefined ? undefined : { ...info, requestIdInfos: new Map(entries) };
}
