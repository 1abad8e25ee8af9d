import DOMPurify from "dompurify";
import { Marked, type Token, type TokensList } from "marked";
import { FORMULAS } from "./formulas.ts";

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const SAFE_ADDRESS = /^(https?:|mailto:)/i;

/** HTML is text, pictures are links, and only web and mail addresses are links. */
const marked = new Marked(FORMULAS, {
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ href, text }) => (SAFE_ADDRESS.test(href) ? `<a href="${escape(href)}">${escape(text || href)}</a>` : escape(text || href)),
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      return SAFE_ADDRESS.test(href) ? `<a href="${escape(href)}">${inner}</a>` : inner;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

const ALLOWED = {
  ALLOWED_TAGS: "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul #text".split(" "),
  ALLOWED_ATTR: ["href", "align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

/**
 * The blocks of a text; plain text when it cannot be parsed. `links` holds link definitions of earlier parts, and gets those of this one.
 */
export function toBlocks(text: string, links: TokensList["links"]): Token[] {
  const lexer = new marked.Lexer(marked.defaults);
  lexer.tokens.links = links;
  try {
    return lexer.lex(text);
  } catch {
    return [{ type: "text", raw: text, text }];
  }
}

/** A block as elements without anything that runs or fetches. */
export function renderBlock(block: Token): HTMLElement {
  const holder = document.createElement("div");
  holder.className = "block";
  try {
    holder.append(DOMPurify.sanitize(marked.parser([block]), ALLOWED));
  } catch {
    holder.textContent = block.raw;
  }
  for (const scrolled of holder.querySelectorAll<HTMLElement>("pre")) scrolled.tabIndex = 0;
  // Browsers ignore children that have a direction of their own.
  for (const child of holder.children) if (child instanceof HTMLElement) child.dir = "auto";
  return holder;
}
