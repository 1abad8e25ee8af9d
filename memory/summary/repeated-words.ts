/** Words that are in most sentences and so say nothing about what two of them have in common. */
const COMMON = new Set(
  "a about also am an and are as at be been but by can could did do does for from had has have he her his how i if in is it its just me my no not of on or our she so than that the their them then there they this to too up us was we were what when which who will with would you your".split(
    " ",
  ),
);

/** Words of any alphabet without the common ones, and pairs of Chinese characters. */
function words(sentence: string): Set<string> {
  const found = new Set<string>();
  for (const [run] of sentence.toLowerCase().matchAll(/\p{Script=Han}+|[^\P{L}\p{Script=Han}]+|\d+/gu)) {
    if (!/^\p{Script=Han}/u.test(run)) {
      if (!COMMON.has(run)) found.add(run);
    } else for (let start = 0; start + 1 < run.length; start++) found.add(run.slice(start, start + 2));
  }
  return found;
}

/** For each sentence the share of its words, from 0 to 1, that an earlier one of the list has already. */
export function repeatedShares(sentences: string[]): number[] {
  const seen = new Set<string>();
  return sentences.map((sentence) => {
    const own = words(sentence);
    let repeated = 0;
    for (const word of own) if (seen.has(word)) repeated++;
    for (const word of own) seen.add(word);
    return own.size === 0 ? 0 : repeated / own.size;
  });
}
