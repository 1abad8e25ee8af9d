import DOMPurify from "dompurify";
import { Marked, type Token, type TokensList } from "marked";

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const SAFE_ADDRESS = /^(https?:|mailto:)/i;

/** Markdown as the page shows it: HTML in it is text, pictures are links (nothing is fetched), only web and mail addresses are followed. */
const marked = new Marked({
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
  ALLOWED_TAGS: [
    ..."a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul".split(" "),
    "#text",
  ],
  ALLOWED_ATTR: ["href", "align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
} as const;

/**
 * The blocks of a text; one that cannot be parsed (nested a thousandfold) is a single block of plain text. `links` are definitions of
 * addresses found in earlier parts of it; those of this part are added.
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

/** One block as elements without anything that runs or fetches. A block that cannot be parsed is shown as it is written. */
export function renderBlock(block: Token): HTMLElement {
  const holder = document.createElement("div");
  holder.className = "block";
  try {
    holder.append(
      DOMPurify.sanitize(marked.parser([block]), {
        ...ALLOWED,
        ALLOWED_TAGS: [...ALLOWED.ALLOWED_TAGS],
        ALLOWED_ATTR: [...ALLOWED.ALLOWED_ATTR],
      }),
    );
  } catch {
    holder.textContent = block.raw;
  }
  for (const scrolled of holder.querySelectorAll<HTMLElement>("pre")) scrolled.tabIndex = 0;
  // The outermost element tells the direction: browsers pass over elements with a direction of their own when they look for it.
  for (const child of holder.children) if (child instanceof HTMLElement) child.dir = "auto";
  return holder;
}
