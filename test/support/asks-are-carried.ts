/** This run sends every ask as bytes, there and back (asks-through-codecs.ts). */
export const asksAreCarried = process.env['PERDURE_TEST_ASKS'] === 'codecs';
