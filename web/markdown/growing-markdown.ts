import type { Token, TokensList } from "marked";
import { growBlock, showBlock } from "./grow-block.ts";
import { toBlocks } from "./render-block.ts";

/** The last blocks may still change: "1. a", then "2", then "2. b" is one list. */
const UNSETTLED_BLOCKS = 2;
/** Pauses are this many times as long as the work before. */
const PAUSES = 3;
/** Work of one frame. */
const SLICE_MS = 10;
/** Characters. A larger rest is plain text. */
const LARGEST_TEXT = 1_000_000;

/** Without the names that every object has: `[constructor]` is no link. */
const noLinks = (): TokensList["links"] => Object.create(null) as TokensList["links"];

/** Markdown of a text that only grows; any other text begins anew. */
export interface GrowingMarkdown {
  show(text: string, isWhole: boolean): void;
  close(): void;
}

/** Called once for each final block. */
export type FinishBlock = (element: HTMLElement, block: Token) => void;

interface Unsettled {
  block: Token;
  element: HTMLElement;
}

/** A block to render; `stays`: it is final. */
interface Waiting {
  block: Token;
  stays: boolean;
}

/** Renders settled blocks once; only the last ones change as the text grows. Works in slices of 10 ms. */
export function makeGrowingMarkdown(element: HTMLElement, finish: FinishBlock): GrowingMarkdown {
  let wanted = { text: "", isWhole: false };
  let lexed = wanted;
  let settledLength = 0;
  let links = noLinks();
  let unsettled: Unsettled[] = [];
  let waiting: Waiting[] = [];
  let timer: number | undefined;
  let restUntil = 0;

  function beginAnew(): void {
    element.replaceChildren();
    lexed = { text: "", isWhole: false };
    [settledLength, links, unsettled, waiting] = [0, noLinks(), [], []];
  }

  function growUnsettled(blocks: readonly Token[], canGrow: boolean): Unsettled[] {
    const grown: Unsettled[] = [];
    for (const [index, { block: old, element: shown }] of unsettled.entries()) {
      const block = blocks[index];
      if (canGrow && block && grown.length === index && growBlock(shown, old, block)) grown.push({ block, element: shown });
      else shown.remove();
    }
    return grown;
  }

  /** Reads the blocks after the settled ones. All but the last become settled; in a whole text, the last one too. */
  function lex(): void {
    lexed = wanted;
    const rest = lexed.text.slice(settledLength);
    const linkCount = Object.keys(links).length;
    const blocks = rest.length > LARGEST_TEXT ? [{ type: "text", raw: rest, text: rest }] : toBlocks(rest, links);
    const solid = blocks.filter(({ type }) => type !== "space");
    const firstOpen = lexed.isWhole ? undefined : (solid.at(-UNSETTLED_BLOCKS) ?? solid[0]);
    const settling = firstOpen ? blocks.slice(0, blocks.indexOf(firstOpen)) : blocks;
    settledLength = firstOpen ? settledLength + settling.reduce((length, { raw }) => length + raw.length, 0) : lexed.text.length;
    const settled = new Set(settling);
    const grown = growUnsettled(solid, Object.keys(links).length === linkCount);
    for (const { block, element: shown } of grown) if (settled.has(block)) finish(shown, block);
    unsettled = grown.filter(({ block }) => !settled.has(block));
    waiting = solid.slice(grown.length).map((block) => ({ block, stays: settled.has(block) }));
  }

  function renderWaiting(deadline: number): void {
    for (let next = waiting.shift(); next; next = performance.now() < deadline ? waiting.shift() : undefined) {
      const { block, stays } = next;
      const shown = showBlock(block);
      element.append(shown);
      if (stays) finish(shown, block);
      else unsettled.push({ block, element: shown });
    }
  }

  function work(): void {
    timer = undefined;
    const began = performance.now();
    if (waiting.length === 0 && lexed !== wanted) lex();
    renderWaiting(began + SLICE_MS);
    const ended = performance.now();
    restUntil = waiting.length > 0 ? ended : ended + (ended - began) * PAUSES;
    if (waiting.length > 0 || lexed !== wanted) timer = requestAnimationFrame(workWhenRested);
  }

  function workWhenRested(): void {
    if (performance.now() >= restUntil) work();
    else timer = requestAnimationFrame(workWhenRested);
  }

  return {
    show(text, isWhole) {
      if (text === wanted.text && isWhole === wanted.isWhole) return;
      if (!text.startsWith(lexed.text) || lexed.isWhole) beginAnew();
      wanted = { text, isWhole };
      if (isWhole) restUntil = 0;
      if (timer === undefined) workWhenRested();
    },
    close() {
      if (timer !== undefined) cancelAnimationFrame(timer);
    },
  };
}
