/** This run sends every ask as bytes (asks-through-codecs.ts). Asks are the same above any log, so it leaves Kafka to the other runs. */
export const asksAreCarried = process.env['PERDURE_TEST_ASKS'] === 'codecs';
