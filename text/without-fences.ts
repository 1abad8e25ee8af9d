import { FENCE_TAGS } from "./fence.ts";

/** Our own tags only: `<passages>` and `<attachments>` may be somebody's XML. */
const NAMES = FENCE_TAGS.filter((tag) => tag.includes("_"));
const OPENING = new RegExp(`^<(?:${NAMES.join("|")})>\\n?`, "u");
const CLOSING = new RegExp(`^\\n?</(?:${NAMES.join("|")})>`, "u");
const LONGEST = Math.max(...NAMES.map(({ length }) => length)) + "\n</>".length;

const mayBecomeTag = (text: string): boolean =>
  text.length < LONGEST && NAMES.some((name) => [`<${name}>`, `</${name}>`, `\n</${name}>`].some((tag) => tag.startsWith(text)));

/**
 * Takes our tags, and the "> " of lines between them, out of an answer that comes in pieces. A possible tag is held back until it is known.
 */
export function makeFenceRemover() {
  let held = "";
  let isInside = false;
  let isLineStart = false;

  function read(isLast: boolean): string {
    let shown = "";
    while (held !== "") {
      if (isInside && isLineStart) {
        if (held === ">" && !isLast) return shown;
        held = held.replace(/^> ?/u, "");
        isLineStart = false;
        continue;
      }
      const [opening] = OPENING.exec(held) ?? [];
      if (opening !== undefined && opening === held && !opening.endsWith("\n") && !isLast) return shown; // its line may end in the next piece
      const isLineEnd = !isInside && held.startsWith("\n"); // of the answer's own
      const tag = isLineEnd ? undefined : (opening ?? CLOSING.exec(held)?.[0]);
      if (tag !== undefined) {
        held = held.slice(tag.length);
        isInside = isLineStart = opening !== undefined;
        continue;
      }
      if (!isLast && !isLineEnd && mayBecomeTag(held)) return shown;
      isLineStart = isInside && held.startsWith("\n");
      const next = held.slice(1).search(isInside ? /[<\n]/u : /</u) + 1 || held.length;
      const end = isLineStart ? 1 : next;
      shown += held.slice(0, end);
      held = held.slice(end);
    }
    return shown;
  }

  return {
    take(piece: string): string {
      held += piece;
      return read(false);
    },
    /** The rest. */
    end: (): string => read(true),
  };
}
