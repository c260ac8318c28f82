/** Stored or sent data that cannot be read: whoever reads it again meets the same. */
export class Undecodable extends Error {
  override readonly name: string = 'Undecodable';
}
