/** Also vertical tab, form feed, NEL and Unicode's two separators. */
export const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/u;

export const splitLines = (text: string): string[] => text.split(LINE_BREAK);

/** A text may be a whole book. */
const MAX_SENTENCES = 120;
const CODE_BLOCK = /```[^]*?```/g;
const END = /[。！？]+[”’"'）)】」』]*|(?<![.!?])[.!?]+["'”’)\]*_]*(?:\p{Extended_Pictographic}\uFE0F?)*(?=\s|$|\p{Script=Han})/gu;
/** A full stop after it ends no sentence. */
const ABBREVIATION = /(?:^|[\s("'“])(?:dr|mr|mrs|ms|prof|st|no|nr|vs|approx|e\.g|i\.e|cf|[b-hj-z])$/i;
const ABBREVIATION_BEFORE_SMALL_LETTER = /(?:\.\p{L}|\b(?:etc|inc|ltd|co|jr|sr|am|pm))$/iu;
const LIST_NUMBER = /^[\s*_>#-]*\d{1,3}$/;
const UNFINISHED_LINE = /(?:[,，、]|\b(?:a|an|and|are|at|but|by|for|from|in|is|my|of|on|or|our|than|that|the|to|was|with|your))$/iu;
const SMALL_LETTER_FIRST = /^\p{Ll}/u;
const LONGEST_GAP = 100;
const WORD = /[\p{L}\p{N}]/u;

function goesOn(line: string, next: string): boolean {
  return UNFINISHED_LINE.test(line.slice(-12)) || (SMALL_LETTER_FIRST.test(next) && !SMALL_LETTER_FIRST.test(line));
}

function lines(text: string): string[] {
  const joined: string[] = [];
  let last = "";
  for (const raw of splitLines(text)) {
    const line = raw.replace(/[\s\p{Cc}]+/gu, " ").trim();
    const continued = last !== "" && line !== "" && goesOn(last, line);
    last = continued ? `${last} ${line}` : line;
    if (continued) joined.pop();
    joined.push(last);
  }
  return joined;
}

function endsSentence(before: string, mark: string, after: string): boolean {
  if (mark !== ".") return true;
  const tail = before.slice(-20);
  if (LIST_NUMBER.test(before.slice(0, 20)) || ABBREVIATION.test(tail)) return false;
  return !(ABBREVIATION_BEFORE_SMALL_LETTER.test(tail) && /^\s*[\p{Ll}\d]/u.test(after));
}

/** The sentences of a line without loss, each with its trailing blanks. */
export function cutIntoSentences(line: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const end of line.matchAll(END)) {
    const next = end.index + end[0].length;
    if (!endsSentence(line.slice(start, end.index), end[0], line.slice(next, next + 4))) continue;
    const blanks = /^\s*/.exec(line.slice(next, next + LONGEST_GAP))?.[0].length ?? 0;
    pieces.push(line.slice(start, next + blanks));
    start = next + blanks;
  }
  return start < line.length ? [...pieces, line.slice(start)] : pieces;
}

/**
 * At most 120 sentences of an English or Chinese text, each on one line. A line break ends a sentence unless the next line goes on. Code
 * blocks and lines without a word are left out; half surrogates become U+FFFD.
 */
export function splitSentences(text: string): string[] {
  const sentences: string[] = [];
  for (const line of lines(text.toWellFormed().replace(CODE_BLOCK, "\n\n"))) {
    for (const sentence of cutIntoSentences(line)) sentences.push(sentence.trim());
    if (sentences.length > MAX_SENTENCES * 2) break;
  }
  return sentences.filter((sentence) => WORD.test(sentence)).slice(0, MAX_SENTENCES);
}
