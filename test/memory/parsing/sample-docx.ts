import { strToU8, zipSync, type Zippable } from "fflate";

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
