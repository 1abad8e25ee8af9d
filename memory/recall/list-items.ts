import { splitSentences } from "../../text/split-sentences.ts";

const MARKED = /^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|（\d{1,2}）|[①-⑩]|第?[一二三四五六七八九十]{1,2}[、，,.：:])\s*(\S.*)$/u;
const INLINE_MARK = /(?:^|[\s:：;；,，。])(?:\(?[1-9][.)、]|（[1-9]）|[①-⑩])\s*/gu;
/** In characters: what is longer between the marks of a series is no item of it. */
const LONGEST_ENGLISH = 40;
const LONGEST_CHINESE = 20;

/** "红色、蓝色和绿色": short parts between 、. What stands before the first and behind the last is cut off. */
function chineseSeries(stretch: string): string[] {
  const [first = "", ...others] = stretch.split("、");
  const end = others.findIndex((part) => part === "" || part.length > LONGEST_CHINESE);
  const items = end < 0 ? others : [...others.slice(0, end), others[end]?.slice(0, LONGEST_CHINESE) ?? ""];
  return items.some(Boolean) && first !== "" ? [first.slice(-LONGEST_CHINESE), ...items] : [];
}

/** "Rome, Paris and Oslo": short parts between commas, up to the end of the stretch. */
function englishSeries(stretch: string): string[] {
  if (!stretch.includes(", ")) return [];
  const parts = stretch.split(/,? (?:and|or) |, (?:and |or )?/u);
  const others = parts.slice(parts.findLastIndex((part) => part.length < 2 || part.length > LONGEST_ENGLISH) + 1);
  const before = parts[parts.length - others.length - 1] ?? "";
  const items = before.length > LONGEST_ENGLISH ? [before.slice(-LONGEST_ENGLISH), ...others] : others;
  return others.length > 0 && items.length > 1 ? items : [];
}

function firstSeries(stretches: string[], series: (stretch: string) => string[]): string[] {
  for (const stretch of stretches) {
    const items = series(stretch);
    if (items.length > 0) return items;
  }
  return [];
}

function inSeries(text: string): string[] {
  const chinese = text.includes("、") ? firstSeries(text.split(/[，。；：！？\s]/u), chineseSeries) : [];
  if (chinese.length > 0) return chinese.flatMap((item) => item.split(/和|或者?|以及/u)).filter(Boolean);
  return firstSeries(text.split(/[.;:!?\n]/u), englishSeries).filter(Boolean);
}

/** The items of the first list in a message, marked by lines, by numbers in a sentence or as a series of words; empty for none. */
export function listItems(message: string): string[] {
  const marked = message.split("\n").flatMap((line) => MARKED.exec(line)?.[1] ?? []);
  if (marked.length > 1) return marked;
  const parts = message.split(INLINE_MARK).slice(1);
  if (parts.length > 1) return parts.map((part) => splitSentences(part)[0] ?? part.trim());
  return inSeries(message);
}
