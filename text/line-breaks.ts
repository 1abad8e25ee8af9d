/** Also vertical tab, form feed, NEL and Unicode's two separators. */
export const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/u;

export const splitLines = (text: string): string[] => text.split(LINE_BREAK);
