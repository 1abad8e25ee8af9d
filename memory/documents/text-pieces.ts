const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });
const WORDS = new Intl.Segmenter("zh", { granularity: "word" });

/**
 * The ways to take a text to pieces, coarse to fine, each without loss: joined, the pieces are the text. The last ones are code points, so
 * that no surrogate pair is ever cut.
 */
export const TEXT_PIECES: readonly ((text: string) => string[])[] = [
  paragraphs,
  (text) => text.split(/(?<=\n)/),
  sentences,
  (text) => text.match(/\s+|\S+/g) ?? [],
  (text) => segments(WORDS, text),
  (text) => Array.from(text),
];

const segments = (segmenter: Intl.Segmenter, text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);

/** A sentence ends with a blank, or in Chinese without one; "?" and "!" in the middle of a web address end none. */
const SENTENCE_END = /[\s\p{Script=Han}\u3000-\u303F\uFF00-\uFFEF]$/u;

function sentences(text: string): string[] {
  const pieces: string[][] = [];
  let ended = true;
  for (const segment of segments(SENTENCES, text)) {
    if (ended) pieces.push([segment]);
    else pieces.at(-1)?.push(segment);
    ended = SENTENCE_END.test(segment.slice(-2));
  }
  return pieces.map((piece) => piece.join(""));
}

/** Cuts after blank lines, but not within fenced code; a table has no blank lines, so it stays whole. */
function paragraphs(text: string): string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  let fence = "";
  let ended = false;
  for (const line of text.split(/(?<=\n)/)) {
    const blank = line.trim() === "";
    if (ended && !blank) {
      pieces.push(piece.join(""));
      piece = [];
    }
    piece.push(line);
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark !== undefined && fence === "") fence = mark;
    else if (mark?.startsWith(fence) && line.trim() === mark) fence = "";
    ended = blank && fence === "";
  }
  return piece.length === 0 ? pieces : [...pieces, piece.join("")];
}
