/** What others wrote, made fit for a terminal: names and errors may hold what it would take for a command, or what turns the order of the text around. */

// oxlint-disable-next-line no-control-regex
const commands = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;
// oxlint-disable-next-line no-control-regex
const commandsInLines = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** On one line. */
export function plainText(text: string): string {
  return text.replaceAll(commands, ' ').trim();
}

/** In the lines that it has. */
export function plainLines(text: string): string {
  return text.replaceAll(commandsInLines, ' ');
}

/** Says the same to whoever parses it: JSON itself leaves more than the first 32 as they are. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
