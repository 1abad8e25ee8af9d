import { HtmlToTextTransformer } from "@langchain/community/document_transformers/html_to_text";
import { Document } from "@langchain/core/documents";
import type { DomNode, FormatCallback, HtmlToTextOptions } from "html-to-text";
import { buildSections, type DocumentPart, type Section } from "./document.ts";

/** A heading as the formatter marks it: "\u0001", level, text, "\u0002". */
const HEADING = /\u0001(\d)([^\u0001\u0002]*)\u0002/g;

/** officeparser's footnote marks and the arrows back to them. */
const OF_FOOTNOTES = ["sup[data-footnote-ref]", "a[href^='#footnote-ref']"];
const LEFT_OUT = ["script", "style", "nav", "[role=navigation]", "noscript", "template", "title", "svg", "[hidden]", ...OF_FOOTNOTES];

const isInCell = ({ parent }: DomNode): boolean => parent?.name === "td" || parent?.name === "th";

const formatters: Record<string, FormatCallback> = {
  heading(element, walk, builder) {
    if (isInCell(element)) return walk(element.children, builder);
    builder.openBlock({ leadingLineBreaks: 2 });
    builder.addInline(`\u0001${element.name?.slice(1)}`, { noWordTransform: true });
    walk(element.children, builder);
    builder.addInline("\u0002", { noWordTransform: true });
    builder.closeBlock({ trailingLineBreaks: 2 });
  },
  /** Word puts paragraphs into cells; they must not end the row's line. */
  paragraph(element, walk, builder) {
    const lineBreaks = element.name === "p" ? 2 : 1;
    if (!isInCell(element)) builder.openBlock({ leadingLineBreaks: lineBreaks });
    walk(element.children, builder);
    if (isInCell(element)) builder.addInline(" ");
    else builder.closeBlock({ trailingLineBreaks: lineBreaks });
  },
  cell(element, walk, builder) {
    builder.addInline("| ");
    walk(element.children, builder);
    builder.addInline(" ");
  },
  alternative(element, _walk, builder) {
    const { alt = "" } = (element.attribs ?? {}) as Record<string, string | undefined>;
    builder.addInline(` ${alt} `);
  },
  code(element, walk, builder) {
    builder.openBlock({ isPre: true, leadingLineBreaks: 2 });
    builder.addLiteral("```\n");
    walk(element.children, builder);
    builder.addLiteral("\n```");
    builder.closeBlock({ trailingLineBreaks: 2 });
  },
};

const OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  baseElements: { selectors: [], returnDomByDefault: true },
  limits: { maxInputLength: Number.MAX_SAFE_INTEGER },
  formatters,
  selectors: [
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, format: "heading" })),
    ...["p", "div"].map((selector) => ({ selector, format: "paragraph" })),
    ...LEFT_OUT.map((selector) => ({ selector, format: "skip" })),
    { selector: "a", format: "inline" },
    { selector: "hr", format: "skip" },
    { selector: "img", format: "alternative" },
    { selector: "pre", format: "code" },
    { selector: "ul", format: "unorderedList", options: { itemPrefix: "- " } },
    { selector: "table", format: "block", options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
    { selector: "caption", format: "block" },
    { selector: "tr", format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    ...["td", "th"].map((selector) => ({ selector, format: "cell" })),
  ],
};

/** Tables become lines of "| cell"; code is fenced. LangChain's transformer loses heading levels, so the formatters mark them. */
export async function readHtml(html: string): Promise<DocumentPart[]> {
  const document = new Document({ pageContent: html });
  const [{ pageContent: text } = document] = await new HtmlToTextTransformer(OPTIONS).transformDocuments([document]);
  const sections: Section[] = [{ level: 0, heading: "", text: "" }];
  let end = 0;
  const endSection = (index: number): void => {
    const last = sections.at(-1);
    if (last) last.text = withoutMarks(text.slice(end, index));
  };
  for (const match of text.matchAll(HEADING)) {
    endSection(match.index);
    sections.push({ level: Number(match[1]), heading: match[2] ?? "", text: "" });
    end = match.index + match[0].length;
  }
  endSection(text.length);
  return buildSections(sections);
}

/** Marks remain where the page has such characters or nested headings. */
const withoutMarks = (text: string): string => text.replaceAll(/\u0001\d|[\u0001\u0002]/g, " ");
