/** Two words that are one thing, examples of one thing, and "to read and write". */
const ONE_THING =
  /\b(?:mac|rock|fish|black|salt|gin|jelly|bed|arts?|drum|country|bread|peanut butter|pen|sweet|rhythm|wine|cats|hide|rum) and \w+|^to |\b(?:such as|like|including|between|both)\b|的.*(?:、|和)|(?:、|和).*(?:的|附近)|^(?:在|和|跟|与)/iu;
const SEPARATOR = /,? (?:and|or|&) |, |、|，|和|以及|还有/iu;
const AND_SO_ON = /,? ?(?:\b(?:etc|and so on|and more|and stuff)\b\.?|等等?.{0,6})$/iu;

/** Two things of which the first lacks what only the second says: "sunny and warm weather", "trying new gadgets and features". */
function areOne([first = "", second = "", ...more]: string[]): boolean {
  if (more.length > 0 || second === "" || !/[a-z]/i.test(first)) return false;
  const isShort = !first.includes(" ") && second.includes(" ");
  return isShort || (/^\w+ing /i.test(first) && !/ing\b/i.test(second));
}

/** The things of a list with commas and "and" between them, in either language; what cannot be taken apart stays whole. */
export function splitThings(text: string): string[] {
  const list = text.replace(AND_SO_ON, "");
  if (ONE_THING.test(list)) return [list];
  const parts = list.split(SEPARATOR).filter((part) => part !== "");
  return !/[,、，]/u.test(list) && areOne(parts) ? [list] : parts;
}
