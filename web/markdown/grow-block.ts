import type { Token, Tokens } from "marked";
import { renderBlock } from "./render-block.ts";

/** Characters. A larger block is plain text. */
const LARGEST_BLOCK = 100_000;

const isPlain = ({ raw }: Token): boolean => raw.length > LARGEST_BLOCK;

function toPlain(raw: string): HTMLElement {
  const holder = document.createElement("div");
  holder.className = "block plain";
  holder.dir = "auto";
  holder.textContent = raw;
  return holder;
}

export const showBlock = (block: Token): HTMLElement => (isPlain(block) ? toPlain(block.raw) : renderBlock(block));

function growText(holder: Node | null, old: string, text: string): boolean {
  const node = holder?.firstChild;
  if (!(node instanceof Text) || node.nextSibling || node.data.length < old.length || !text.startsWith(old)) return false;
  node.replaceData(old.length, node.data.length - old.length, text.slice(old.length));
  return true;
}

const withoutEnd = ({ text }: Tokens.Code): string => text.replace(/\n$/, "");

function countSame<Part>(old: readonly Part[], parts: readonly Part[], isSame: (one: Part, other: Part) => boolean): number {
  const differs = old.findIndex((part, index) => parts[index] === undefined || !isSame(part, parts[index]));
  return differs === -1 ? old.length : differs;
}

/** Replaces the elements from an index on, with the text between. */
function replaceFrom(holder: Element, index: number, fresh: Element): void {
  const first = holder.children[index];
  while (first && holder.lastChild !== first) holder.lastChild?.remove();
  first?.remove();
  while (fresh.firstChild && fresh.firstChild !== fresh.firstElementChild) fresh.firstChild.remove();
  holder.append(...fresh.childNodes);
}

function growList(element: HTMLElement, old: Tokens.List, list: Tokens.List): boolean {
  const holder = element.firstElementChild;
  if (!holder || old.ordered !== list.ordered || old.start !== list.start || old.loose !== list.loose) return false;
  const same = countSame(old.items, list.items, (one, other) => one.raw === other.raw);
  if (same === old.items.length && same === list.items.length) return true;
  const fresh = renderBlock({ ...list, items: list.items.slice(same) }).firstElementChild;
  if (fresh) replaceFrom(holder, same, fresh);
  return fresh !== null;
}

const cellsOf = (row: readonly Tokens.TableCell[]): string => JSON.stringify(row.map(({ text, align }) => [text, align]));

function growTable(element: HTMLElement, old: Tokens.Table, table: Tokens.Table): boolean {
  const holder = element.querySelector("tbody");
  if (!holder || cellsOf(old.header) !== cellsOf(table.header)) return false;
  const same = countSame(old.rows, table.rows, (one, other) => cellsOf(one) === cellsOf(other));
  if (same === old.rows.length && same === table.rows.length) return true;
  const fresh = renderBlock({ ...table, rows: table.rows.slice(same) }).querySelector("tbody");
  if (fresh) replaceFrom(holder, same, fresh);
  return fresh !== null;
}

/** Grows a long block's element (code, list, table) without rendering it anew. False: it must be rendered. */
export function growBlock(element: HTMLElement, old: Token, block: Token): boolean {
  if (old.type !== block.type || isPlain(old) !== isPlain(block)) return false;
  if (old.raw === block.raw) return true;
  if (isPlain(block)) return growText(element, old.raw, block.raw);
  switch (block.type) {
    case "code":
      return growText(element.querySelector("pre > code"), withoutEnd(old as Tokens.Code), `${withoutEnd(block as Tokens.Code)}\n`);
    case "list":
      return growList(element, old as Tokens.List, block as Tokens.List);
    case "table":
      return growTable(element, old as Tokens.Table, block as Tokens.Table);
    default:
      return false;
  }
}
