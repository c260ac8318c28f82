/** Of whatever was thrown, for people: `RangeError: Invalid array length`. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
