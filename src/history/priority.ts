/** An activity or a child takes from its workflow each part of the priority that it does not set itself. */
export function mergedPriority(workflow: Uint8Array | undefined, own: Uint8Array | undefined): Uint8Array | undefined {
  if (workflow === undefined || own === undefined) return own ?? workflow;
  // Encoded messages behind each other are one message in which the later fields win.
  const merged = new Uint8Array(workflow.length + own.length);
  merged.set(workflow);
  merged.set(own, workflow.length);
  return merged;
}
