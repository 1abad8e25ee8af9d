import { Marked, type MarkedToken, type Token, type Tokens, type TokensList } from "marked";
import { FORMULAS } from "./formulas.ts";

const marked = new Marked(FORMULAS, { gfm: true, breaks: true });

const SAFE_ADDRESS = /^(https?:|mailto:)/i;
/** What HTML would read as more than a character. */
const NO_ENTITY = /<|&(?!(?:#\d{1,7}|#x[\da-f]{1,6}|\w+);)/gi;
/** Tokens that become an element with their content. */
const ELEMENTS: Readonly<Record<string, string>> = {
  blockquote: "blockquote",
  paragraph: "p",
  list_item: "li",
  strong: "strong",
  em: "em",
  del: "del",
};

/** `&copy;` is read as in HTML, and nothing else of a text is. */
function decode(text: string): string {
  if (!text.includes("&")) return text;
  const escaped = text.replace(NO_ENTITY, (character) => `&#${character.charCodeAt(0)};`);
  return new DOMParser().parseFromString(`<body>${escaped}`, "text/html").body.textContent;
}

function make(name: string, ...children: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

/** Only web and mail addresses are links. */
function makeLink(href: string, ...children: (Node | string)[]): (Node | string)[] {
  if (!SAFE_ADDRESS.test(href)) return children;
  const link = make("a", ...children);
  for (const [name, value] of Object.entries({ href, target: "_blank", rel: "noopener noreferrer nofollow" }))
    link.setAttribute(name, value);
  return [link];
}

function makeList({ ordered, start, items }: Tokens.List): HTMLElement {
  const list = make(ordered ? "ol" : "ul", ...toNodes(items));
  if (ordered && start !== 1) list.setAttribute("start", String(start));
  return list;
}

function makeRow(cells: readonly Tokens.TableCell[]): HTMLElement {
  const row = make("tr");
  for (const { header, align, tokens } of cells) {
    const cell = make(header ? "th" : "td", ...toNodes(tokens));
    if (align) cell.setAttribute("align", align);
    row.append(cell);
  }
  return row;
}

function makeTable({ header, rows }: Tokens.Table): HTMLElement {
  const table = make("table", make("thead", makeRow(header)));
  if (rows.length > 0) table.append(make("tbody", ...rows.map(makeRow)));
  return table;
}

const toNodes = (tokens: readonly Token[] = []): (Node | string)[] => tokens.flatMap((token) => toNode(token as MarkedToken));

/** No text is ever read as HTML: a token is one of these elements, or text. */
function toNode(token: MarkedToken): (Node | string)[] {
  const name = ELEMENTS[token.type];
  if (name !== undefined) return [make(name, ...toNodes((token as Tokens.Paragraph).tokens))];
  switch (token.type) {
    case "text":
      return token.tokens ? toNodes(token.tokens) : [decode(token.text)];
    case "escape":
      return [decode(token.text)];
    case "html":
      return [token.text];
    case "heading":
      return [make(`h${token.depth}`, ...toNodes(token.tokens))];
    case "code":
      return [make("pre", make("code", token.text && `${token.text.replace(/\n$/, "")}\n`))];
    case "codespan":
      return [make("code", token.text)];
    case "br":
    case "hr":
      return [make(token.type)];
    case "link":
      return makeLink(token.href, ...toNodes(token.tokens));
    case "image": // one elsewhere would tell a stranger's server what was read and when
      return makeLink(token.href, token.text || token.href);
    case "checkbox":
      return [token.checked ? "☑ " : "☐ "];
    case "list":
      return [makeList(token)];
    case "table":
      return [makeTable(token)];
    default:
      return []; // space and definitions of links
  }
}

/** The blocks of a text; plain text when it cannot be parsed. `links` holds the link definitions so far. */
export function toBlocks(text: string, links: TokensList["links"]): Token[] {
  const lexer = new marked.Lexer(marked.defaults);
  lexer.tokens.links = links;
  try {
    return lexer.lex(text);
  } catch {
    return [{ type: "text", raw: text, text }];
  }
}

/** A block as elements that neither run nor fetch anything. */
export function renderBlock(block: Token): HTMLElement {
  const holder = make("div");
  holder.className = "block";
  try {
    holder.append(...toNodes([block]));
  } catch {
    holder.textContent = block.raw; // too deep
  }
  for (const scrolled of holder.querySelectorAll<HTMLElement>("pre")) scrolled.tabIndex = 0;
  // Browsers ignore children that have a direction of their own.
  for (const child of holder.children) if (child instanceof HTMLElement) child.dir = "auto";
  return holder;
}
