import { splitSentences } from "../summary/split-sentences.ts";

const MARKED = /^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|（\d{1,2}）|[①-⑩]|第?[一二三四五六七八九十]{1,2}[、，,.：:])\s*(\S.*)$/u;
const INLINE_MARK = /(?:^|[\s:：;；,，。])(?:\(?[1-9][.)、]|（[1-9]）|[①-⑩])\s*/gu;
/** "Rome, Paris and Oslo", "红色、蓝色和绿色": short parts between commas. */
const ENGLISH_SERIES = /((?:[^,.;:!?\n]{2,40}, )+(?:and |or )?[^,.;:!?\n]{2,40}?(?:,? (?:and|or) [^,.;:!?\n]{2,40})?)(?=[.;:!?\n]|$)/u;
const CHINESE_SERIES = /((?:[^、，。；：！？\s]{1,20}、)+[^、，。；：！？\s]{1,20})/u;

function inSeries(text: string): string[] {
  const chinese = CHINESE_SERIES.exec(text)?.[1];
  if (chinese !== undefined) return chinese.split(/、|和|或者?|以及/u).filter(Boolean);
  const english = ENGLISH_SERIES.exec(text)?.[1];
  return english === undefined ? [] : english.split(/,? (?:and|or) |, /u).filter(Boolean);
}

/** The items of the first list in a message, marked by lines, by numbers in a sentence or as a series of words; empty for none. */
export function listItems(message: string): string[] {
  const marked = message.split("\n").flatMap((line) => MARKED.exec(line)?.[1] ?? []);
  if (marked.length > 1) return marked;
  const parts = message.split(INLINE_MARK).slice(1);
  if (parts.length > 1) return parts.map((part) => splitSentences(part)[0] ?? part.trim());
  return inSeries(message);
}
