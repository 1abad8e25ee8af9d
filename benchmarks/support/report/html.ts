/** A piece of HTML that needs no escaping any more. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Html | string | number | undefined | readonly Content[];

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function toText(content: Content): string {
  if (content instanceof Html) return content.text;
  if (typeof content === "object") return content.map(toText).join("");
  return String(content ?? "").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** A tagged template: what is filled in is escaped, unless it is Html itself; lists are joined. */
export function html(parts: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(parts.reduce((text, part, index) => text + toText(contents[index - 1]) + part));
}

/** JSON for a script element: no text in it can end the element. */
export const jsonForScript = (data: unknown): Html => new Html(JSON.stringify(data).replaceAll("<", "\\u003c"));
