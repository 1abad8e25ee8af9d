import type { MarkedExtension } from "marked";

/** Formulas stay as written, as code: Markdown would eat their backslashes. See docs/decisions/0020. */
const BLOCK = /^ {0,3}(?:\$\$(?:(?!\n\n)[^]){1,4000}?\$\$|\\\[(?:(?!\n\n)[^]){1,4000}?\\\])[ \t]*(?:\n|$)/;
const INLINE = /^(?:\\\([^\n]{1,1000}?\\\)|\\\[[^\n]{1,1000}?\\\])/;
const BEGINS = /\n(?=\$\$|\\\[)/;

/** Where a formula cuts a paragraph. It searches only the paragraph. */
function startsAt(source: string): number | undefined {
  const end = source.indexOf("\n\n");
  const at = BEGINS.exec(end === -1 ? source : source.slice(0, end))?.index;
  return at !== undefined && BLOCK.test(source.slice(at + 1)) ? at + 1 : undefined;
}

export const FORMULAS: MarkedExtension = {
  extensions: [
    {
      name: "formula",
      level: "block",
      start: startsAt,
      tokenizer(source) {
        const raw = BLOCK.exec(source)?.[0];
        return raw === undefined ? undefined : { type: "code", raw, text: raw.trim() };
      },
    },
    {
      name: "formulaInLine",
      level: "inline",
      tokenizer(source) {
        const raw = INLINE.exec(source)?.[0];
        return raw === undefined ? undefined : { type: "codespan", raw, text: raw };
      },
    },
  ],
};
