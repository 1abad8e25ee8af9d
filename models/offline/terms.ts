/** Words that are in most sentences and so say nothing about what two of them have in common. */
const COMMON = new Set(
  "a about also am an and are as at be been but by can could did do does for from had has have he her his how i if in is it its just know me my no not of on or our please she so tell than that the their them then there they this to too up us was we were what when where which who why will with would you your".split(
    " ",
  ),
);

/** What two sentences may have in common: words of any alphabet without the common ones, and pairs of Chinese characters. */
export function terms(text: string): Set<string> {
  const found = new Set<string>();
  for (const [run] of text.toLowerCase().matchAll(/\p{Script=Han}+|[^\P{L}\p{Script=Han}]+|\d+/gu)) {
    if (!/^\p{Script=Han}/u.test(run)) {
      if (!COMMON.has(run)) found.add(run);
    } else for (let start = 0; start + 1 < run.length; start++) found.add(run.slice(start, start + 2));
  }
  return found;
}
