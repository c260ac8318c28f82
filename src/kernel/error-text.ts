/** Whatever was thrown, as text for people: `RangeError: Invalid array length`. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** What `errorText` says, without the class of the error: `Invalid array length`. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The word that the system or a library gives an error for programs: `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Whatever was thrown, as an error: for log lines, which show its stack. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
