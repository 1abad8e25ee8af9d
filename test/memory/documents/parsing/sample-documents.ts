import { strToU8, zipSync, type Zippable } from "fflate";
import { parseDocument } from "../../../../memory/documents/parsing/parse-document.ts";
import type { DocumentLimits, DocumentPart } from "../../../../memory/documents/parsing/document.ts";

export const PDF = "application/pdf";
export const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/** The chunks of this content, parsed as a document of the title "sample". */
export async function parseSample(
  contentType: string,
  content: string | Uint8Array,
  limits?: Partial<DocumentLimits>,
): Promise<DocumentPart[]> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const chunks = await parseDocument({ bytes, contentType, title: "sample" }, new AbortController().signal, limits);
  return chunks.map(({ heading, text }) => ({ heading, text }));
}

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml";

const CONTENT_TYPES = `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="${WORD}.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="${WORD}.styles+xml"/></Types>`;
const ROOT = `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>`;
const OF_DOCUMENT = `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`;

/** Word and WPS give built-in styles numbers for ids and keep their English names. */
const STYLES = `${HEAD}<w:styles ${W}>${[1, 2, 3].map((level) => `<w:style w:type="paragraph" w:styleId="${level}"><w:name w:val="heading ${level}"/></w:style>`).join("")}</w:styles>`;

/** A paragraph, of a heading's level if one is given. */
export function wordParagraph(text: string, level?: number): string {
  const style = level === undefined ? "" : `<w:pPr><w:pStyle w:val="${level}"/></w:pPr>`;
  return `<w:p>${style}<w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

export function wordTable(rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string => row.map((cell) => `<w:tc>${wordParagraph(cell)}</w:tc>`).join("");
  return `<w:tbl>${rows.map((row) => `<w:tr>${cells(row)}</w:tr>`).join("")}</w:tbl>`;
}

/** A DOCX of this body, made as Word makes them, with more files in its zip if given. */
export function sampleDocx(body: string, more: Zippable = {}): Buffer {
  const files: Zippable = {
    "[Content_Types].xml": strToU8(CONTENT_TYPES),
    "_rels/.rels": strToU8(ROOT),
    "word/_rels/document.xml.rels": strToU8(OF_DOCUMENT),
    "word/styles.xml": strToU8(STYLES),
    "word/document.xml": strToU8(`${HEAD}<w:document ${W}><w:body>${body}</w:body></w:document>`),
    ...more,
  };
  return Buffer.from(zipSync(files));
}

/** How a PDF of a test is made, by hand: from the page's operators to the trailer. */
export interface PdfOptions {
  /** What /Count says, true or not. */
  claimedPages?: number;
  /** How often the one page is in the list of pages. */
  repeatedPages?: number;
  /** The object of the font /F1. */
  font?: string;
  /** More objects, from number 6. */
  more?: readonly string[];
  /** More entries of the trailer, and of each page's content stream. */
  trailer?: string;
  stream?: string;
}

const HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

/** A PDF of one page with these operators, such as "BT /F1 18 Tf 20 100 Td (words) Tj ET". Latin-1 throughout. */
export function samplePdf(operators: string | Buffer, options: PdfOptions = {}): Buffer {
  const { repeatedPages = 1, claimedPages = repeatedPages, font = HELVETICA, more = [], trailer = "", stream = "" } = options;
  const content = Buffer.from(operators as string, "latin1");
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Kids[${"3 0 R ".repeat(repeatedPages)}]/Count ${claimedPages}>>`,
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
    `<</Length ${content.length}${stream}>>stream\n${content.toString("latin1")}\nendstream`,
    font,
    ...more,
  ];
  let file = "%PDF-1.4\n";
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<</Root 1 0 R/Size ${size}${trailer}>>\nstartxref\n${file.length}\n%%EOF`;
  return Buffer.from(file + end, "latin1");
}

/** One line of Helvetica. */
export const pdfOf = (text: string, options?: PdfOptions): Buffer => samplePdf(`BT /F1 18 Tf 20 100 Td (${text}) Tj ET`, options);

/**
 * Lines of Chinese in a font that is not in the file, as Acrobat makes them: UTF-16 codes under a character map that the reader must know.
 */
export function chinesePdf(lines: readonly string[]): Buffer {
  const hex = (line: string): string => Buffer.from(line, "utf16le").swap16().toString("hex");
  const shown = lines.map((line) => `<${hex(line)}> Tj 0 -20 Td`).join(" ");
  return samplePdf(`BT /F1 12 Tf 20 150 Td ${shown} ET`, {
    font: "<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[6 0 R]>>",
    more: [
      "<</Type/Font/Subtype/CIDFontType0/BaseFont/STSong-Light/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 2>>/FontDescriptor 7 0 R>>",
      "<</Type/FontDescriptor/FontName/STSong-Light/Flags 6/FontBBox[-25 -254 1000 880]/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 880/StemV 93>>",
    ],
  });
}

/** Says that it is encrypted, with a key that no empty password opens. */
export const encryptedPdf = (): Buffer =>
  pdfOf("secret", {
    more: [`<</Filter/Standard/V 1/R 2/Length 40/P -4/O<${"41".repeat(32)}>/U<${"42".repeat(32)}>>>`],
    trailer: `/Encrypt 6 0 R/ID[<${"43".repeat(16)}><${"43".repeat(16)}>]`,
  });
