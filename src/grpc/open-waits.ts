/** Calls that wait, and how each of them is ended before what it waits for has come. */
export class OpenWaits {
  /** How it is ended → the namespace it waits in; '' for none. */
  readonly #namespaceIds = new Map<() => void, string>();

  add(namespaceId: string, end: () => void): void {
    this.#namespaceIds.set(end, namespaceId);
  }

  delete(end: () => void): void {
    this.#namespaceIds.delete(end);
  }

  endAll(): void {
    for (const end of this.#namespaceIds.keys()) end();
  }

  /** Looks at all of them: for what is rare. */
  endWhere(isOver: (namespaceId: string) => boolean): void {
    for (const [end, namespaceId] of this.#namespaceIds) if (isOver(namespaceId)) end();
  }
}
