/** The pragmas that `--sqlite-pragma` takes, and their values. SQLite itself ignores a misspelt name or value without a word. */
const number = /^-?\d{1,15}$/;
const truth = /^(0|1|on|off|true|false|yes|no)$/i;

export const sqlitePragmas: ReadonlyMap<string, RegExp> = new Map([
  ['auto_vacuum', /^(0|1|2|none|full|incremental)$/i],
  ['busy_timeout', number],
  ['cache_size', number],
  ['cache_spill', /^(-?\d{1,15}|on|off|true|false|yes|no)$/i],
  ['cell_size_check', truth],
  ['checkpoint_fullfsync', truth],
  ['fullfsync', truth],
  ['hard_heap_limit', number],
  ['journal_mode', /^(delete|truncate|persist|memory|wal|off)$/i],
  ['journal_size_limit', number],
  ['max_page_count', number],
  ['mmap_size', number],
  ['page_size', /^(512|1024|2048|4096|8192|16384|32768|65536)$/],
  ['secure_delete', /^(0|1|on|off|true|false|yes|no|fast)$/i],
  ['soft_heap_limit', number],
  ['synchronous', /^(0|1|2|3|off|normal|full|extra)$/i],
  ['temp_store', /^(0|1|2|default|file|memory)$/i],
  ['threads', number],
  ['wal_autocheckpoint', number],
]);
