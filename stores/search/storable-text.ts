/** The text as every store can hold it: Postgres takes no NUL, and half a surrogate pair is not UTF-8. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}
