/** What operators may ask of AdminService, by the names of Temporal's dynamic configuration. */
import { onOff } from './dynamic-setting.ts';

export const adminSettings = {
  listsHistoryTasks: onOff('admin.enableListHistoryTasks', {
    default: true,
    about: 'Whether AdminService lists the pending tasks of shards.',
  }),
};
