/** Bytes of a text as UTF-8, without an encoder. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00) {
      bytes += 4;
      at++;
    } else bytes += 3;
  }
  return bytes;
}

/** Cuts a text to as many of its characters as fit. */
export function cutToUtf8Bytes(text: string, bytesMax: number): string {
  // Each unit of it is a byte at least: a long text is not counted to its end.
  if (text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8Bytes(text) <= bytesMax)) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += utf8Bytes(character);
    if (bytes > bytesMax) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Characters as people count them: one beyond 16 bits is one. */
export function charactersIn(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}
