const charactersMax = 200;

/** An id or a name that somebody has sent, for a text: nobody reads more of it, and it may be as long as a request. */
export function shownId(id: string): string {
  if (id.length <= charactersMax) return id;
  return `${id.slice(0, charactersMax).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
