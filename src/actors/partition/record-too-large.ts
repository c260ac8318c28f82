/** What a command would have written has no room in a record of the journal. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge';
}
