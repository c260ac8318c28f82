/** Names of queues, some of whose bytes are then damaged where they stand: in the order of bytes before, between and behind those of others. */
const names = ['a', 'é', '注', '🛒', 'to be 80 61', 'to be 81 61', 'to be f8 61', 'to be fe'];

export const queuesWithDamagedNames = {
  rows: names.map((queue, taskId) => ({ taskId, queue, task: Uint8Array.of(taskId) })),
  /** Task id and bytes, in hex. */
  damaged: [
    [4, '8061'],
    [5, '8161'],
    [6, 'f861'],
    [7, 'fe'],
  ] as const,
  /** Each queue with its tasks, in the order of bytes. */
  wanted: [
    ['a', [0]],
    ['unreadable name 8061', [4]],
    ['unreadable name 8161', [5]],
    ['é', [1]],
    ['注', [2]],
    ['🛒', [3]],
    ['unreadable name f861', [6]],
    ['unreadable name fe', [7]],
  ],
};
