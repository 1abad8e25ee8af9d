/** Scripts that say in one character what English says in two or more. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303F\uFF00-\uFFEF]/gu;

/** The size of a text: its characters (UTF-16 units), Chinese, Japanese and Korean ones twice. So 1,200 is 600 Chinese characters. */
export function textSize(text: string): number {
  return text.length + (text.match(DENSE)?.length ?? 0);
}
