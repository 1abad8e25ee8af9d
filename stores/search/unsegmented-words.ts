/** The scripts that are written without spaces between words, as Postgres and Milvus' own analysers leave them in one piece. */
export const UNSEGMENTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;

/** Every character and every pair of neighbours in runs of Chinese, Japanese or Korean: "导演说" gives 导 导演 演 演说 说. */
export function unsegmentedWords(text: string): string[] {
  const words: string[] = [];
  for (const [run] of text.matchAll(UNSEGMENTED)) {
    const characters = [...run];
    for (const [index, character] of characters.entries()) {
      const next = characters[index + 1];
      words.push(character);
      if (next !== undefined) words.push(character + next);
    }
  }
  return words;
}
