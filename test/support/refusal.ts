/** The gRPC error of a call that must fail. */
export async function refusal(call: Promise<unknown>): Promise<{ readonly code: number; readonly details: string }> {
  try {
    await call;
  } catch (error) {
    const { code, details } = error as { code: number; details: string };
    return { code, details };
  }
  throw new Error('the call was accepted');
}
