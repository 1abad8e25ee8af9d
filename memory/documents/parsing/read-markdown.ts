import MarkdownIt from "markdown-it";
import { buildSections, type DocumentPart, type Section } from "./document.ts";

/** YAML at the top, which Markdown would read as a heading. */
const FRONT_MATTER = /^---[^\S\n]*\n(?:(?!---)[^\n]*\n)*?---[^\S\n]*(?:\n|$)/;

/** Keeps the source of each section. markdown-it tells headings from comments in code. */
export function readMarkdown(text: string): DocumentPart[] {
  const frontMatter = FRONT_MATTER.exec(text)?.[0] ?? "";
  const source = text.slice(frontMatter.length);
  const lines = source.split("\n");
  const sections: Section[] = [{ level: 0, heading: "", text: frontMatter }];
  let from = 0;
  const closeAt = (line: number): void => {
    const last = sections.at(-1);
    if (last) last.text += lines.slice(from, line).join("\n");
  };
  for (const { level, heading, start, end } of headingsOf(source)) {
    closeAt(start);
    sections.push({ level, heading, text: "" });
    from = end;
  }
  closeAt(lines.length);
  return buildSections(sections);
}

const IMAGE = /!\[[^\]]{0,300}\](?:\([^)]{0,1000}\)|\[[^\]]{0,300}\])/g;
const LINK = /\[([^\]]{0,300})\](?:\([^)]{0,1000}\)|\[[^\]]{0,300}\])/g;

/** A heading without badges and addresses of links: every chunk repeats it. */
function headingText(source: string): string {
  return source.replace(IMAGE, "").replace(LINK, "$1").replace(/\s+/g, " ").trim();
}

interface Heading {
  level: number;
  heading: string;
  /** Its first line, and the one after its last. */
  start: number;
  end: number;
}

function* headingsOf(source: string): Generator<Heading> {
  const markdown = new MarkdownIt({ html: true });
  // Blocks alone: emphasis and links cost most in hostile input.
  markdown.core.ruler.enableOnly(["normalize", "block"]);
  const tokens = markdown.parse(source, {});
  for (const [index, token] of tokens.entries()) {
    // Headings in lists and quotations (level above 0) belong to their text.
    if (token.type !== "heading_open" || token.level !== 0 || !token.map) continue;
    const [start, end] = token.map;
    yield { level: Number(token.tag.slice(1)), heading: headingText(tokens[index + 1]?.content ?? ""), start, end };
  }
}
