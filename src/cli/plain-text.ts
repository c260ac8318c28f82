/** Makes text of others safe for a terminal: names and errors may have control characters, or characters that reverse the order of text. */

// oxlint-disable-next-line no-control-regex
const commands = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;
// oxlint-disable-next-line no-control-regex
const commandsInLines = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** Removes them, and puts the text on one line. */
export function plainText(text: string): string {
  return text.replaceAll(commands, ' ').trim();
}

/** Removes them, but keeps the lines. */
export function plainLines(text: string): string {
  return text.replaceAll(commandsInLines, ' ');
}

/** JSON in which these characters are escaped; `JSON.stringify` escapes only the first 32. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
