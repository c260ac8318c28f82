/** The words of a closed union, for whoever reads what another program wrote. A word that is missing or too many does not compile (`in out`). */
export type Words<in out Word extends string> = {
  readonly all: readonly Word[];
  /** undefined: the text is none of them. */
  readonly find: (text: string | undefined) => Word | undefined;
};

export type WordOf<Those> = Those extends Words<infer Word> ? Word : never;

type WordsIn<Text extends string> = Text extends `${infer First} ${infer Others}` ? First | WordsIn<Others> : Text;

/** Of texts that have one blank between two words. */
export function words<const Text extends string>(...texts: readonly Text[]): Words<WordsIn<Text>> {
  const all = texts.flatMap((text) => text.split(' ') as WordsIn<Text>[]);
  const known = new Map<string | undefined, WordsIn<Text>>(all.map((word) => [word, word]));
  return { all, find: (text) => known.get(text) };
}
