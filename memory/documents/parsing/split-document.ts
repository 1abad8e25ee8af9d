import { setImmediate } from "node:timers/promises";
import { TextSplitter } from "@langchain/textsplitters";
import { cutIntoSentences } from "../../../text/split-sentences.ts";
import { type DocumentPart, HEADING_SEPARATOR } from "./document.ts";

/** A piece of a document, as it is embedded and found. */
export interface Chunk {
  position: number;
  /** The path of headings above it. */
  heading: string;
  text: string;
}

/** In characters as textSize counts them: 1,200 of English, 600 of Chinese. */
const SIZE = 1_200;
const OVERLAP = 120;

/** Loses no word, and lets other work run in between. */
export async function splitDocument(
  parts: readonly DocumentPart[],
  { size = SIZE, overlap = OVERLAP }: { size?: number; overlap?: number } = {},
): Promise<Chunk[]> {
  const splitter = new DocumentSplitter({ size, overlap });
  const chunks: Chunk[] = [];
  let sinceTurn = 0;
  for (const { heading, text } of joinSections(parts, size)) {
    for (const stretch of textStretches(text)) {
      for (const piece of await splitter.splitText(stretch)) chunks.push({ position: chunks.length, heading, text: piece });
      sinceTurn += stretch.length;
      if (sinceTurn < 10_000) continue;
      sinceTurn = 0;
      await setImmediate();
    }
  }
  return chunks;
}

type JoinedSection = Pick<DocumentPart, "heading" | "text">;

const SMALL_SHARE = 1 / 4;

/** Joins parts under one heading, such as rows or pages, and small neighbours under one parent, with their own headings in the text. */
function joinSections(parts: readonly DocumentPart[], size: number): JoinedSection[] {
  const joined: JoinedSection[] = [];
  for (const run of runsOf(joinSameHeadings(parts), size)) {
    const [first] = run;
    if (!first) continue;
    const texts = run.map(({ heading, text }) => `${lastHeading(heading)}\n\n${text}`);
    joined.push(run.length === 1 ? first : { heading: parentOf(first.heading), text: texts.join("\n\n") });
  }
  return joined;
}

function runsOf(sections: readonly JoinedSection[], size: number): JoinedSection[][] {
  const runs: JoinedSection[][] = [];
  let total = 0;
  for (const section of sections) {
    const own = textSize(section.text) + textSize(lastHeading(section.heading)) + "\n\n".length * 2;
    const small = own <= size * SMALL_SHARE && section.heading !== "";
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run && before && small && total > 0 && total + own <= size && parentOf(before.heading) === parentOf(section.heading)) {
      run.push(section);
      total += own;
    } else {
      runs.push([section]);
      total = small ? own : 0;
    }
  }
  return runs;
}

function joinSameHeadings(parts: readonly DocumentPart[]): JoinedSection[] {
  const sections: { heading: string; texts: string[] }[] = [];
  for (const { heading, text } of parts) {
    const last = sections.at(-1);
    if (last?.heading === heading) last.texts.push(text);
    else sections.push({ heading, texts: [text] });
  }
  return sections.map(({ heading, texts }) => ({ heading, text: texts.join("\n\n") }));
}

function parentOf(heading: string): string {
  return heading.slice(0, Math.max(0, heading.lastIndexOf(HEADING_SEPARATOR)));
}

function lastHeading(heading: string): string {
  const at = heading.lastIndexOf(HEADING_SEPARATOR);
  return at < 0 ? heading : heading.slice(at + HEADING_SEPARATOR.length);
}

const STRETCH = 20_000;

/** Cuts at a paragraph, a line or a blank if there is one, never within a surrogate pair. */
function* textStretches(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > STRETCH) {
    const length = endOfStretch(text.slice(start, start + STRETCH));
    yield text.slice(start, start + length);
    start += length;
  }
  yield text.slice(start);
}

function endOfStretch(stretch: string): number {
  for (const boundary of ["\n\n", "\n"]) {
    const at = stretch.lastIndexOf(boundary);
    if (at > STRETCH / 2) return at + boundary.length;
  }
  const blank = stretch.search(/\s\S*$/);
  if (blank > 0) return blank + 1;
  const last = stretch.charCodeAt(stretch.length - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return splitsPair ? stretch.length - 1 : stretch.length;
}

/** LangChain's TextSplitter merges pieces with an overlap. Its recursive splitter would cut surrogate pairs, code and Chinese sentences. */
class DocumentSplitter extends TextSplitter {
  constructor({ size, overlap }: { size: number; overlap: number }) {
    super({ chunkSize: size, chunkOverlap: overlap, lengthFunction: textSize });
  }

  override async splitText(text: string): Promise<string[]> {
    return this.#split(text, 0);
  }

  async #split(text: string, level: number): Promise<string[]> {
    const chunks: string[] = [];
    let fitting: string[] = [];
    const merge = async (): Promise<void> => {
      chunks.push(...(await this.mergeSplits(fitting, "")));
      fitting = [];
    };
    for (const piece of TEXT_PIECES[level]?.(text) ?? [text]) {
      if (textSize(piece) <= this.chunkSize) {
        fitting.push(piece);
      } else {
        await merge();
        chunks.push(...(await this.#split(piece, level + 1)));
      }
    }
    await merge();
    return chunks;
  }
}

const WORDS = new Intl.Segmenter("zh", { granularity: "word" });

/** Ways to cut a text without loss, coarse to fine. */
const TEXT_PIECES: readonly ((text: string) => string[])[] = [
  paragraphs,
  (text) => text.split(/(?<=\n)/),
  cutIntoSentences,
  (text) => text.match(/\s+|\S+/g) ?? [],
  (text) => Array.from(WORDS.segment(text), ({ segment }) => segment),
  (text) => Array.from(text),
];

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

const DENSE_SCRIPTS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303F\uFF00-\uFFEF]/gu;

/** In UTF-16 units; Chinese, Japanese and Korean characters count twice. */
export function textSize(text: string): number {
  return text.length + (text.match(DENSE_SCRIPTS)?.length ?? 0);
}
