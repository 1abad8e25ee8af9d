/** The letters and digits of a text, by which two that differ in marks, blanks and capitals are the same. */
export function sameWords(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}
