import { strToU8, zipSync } from "fflate";

const OPEN_XML = "application/vnd.openxmlformats-officedocument";
export const PPTX = `${OPEN_XML}.presentationml.presentation`;
export const XLSX = `${OPEN_XML}.spreadsheetml.sheet`;
export const ODT = "application/vnd.oasis.opendocument.text";

const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships";

const zipOf = (files: Record<string, string | Uint8Array>): Buffer =>
  Buffer.from(
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, typeof text === "string" ? strToU8(text) : text]))),
  );

const relationships = (targets: readonly string[], kind: string): string =>
  `<Relationships xmlns="${RELATIONSHIPS}">${targets.map((target, n) => `<Relationship Id="rId${n + 1}" Type="${OFFICE}/${kind}" Target="${target}"/>`).join("")}</Relationships>`;

const P = `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}"`;
const shape = (text: string, place: string): string =>
  `<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:cNvSpPr/><p:nvPr>${place}</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;

/** A slide for each title and text; an empty title is none. */
export function samplePptx(slides: readonly (readonly [title: string, text: string])[], more: Record<string, Uint8Array> = {}): Buffer {
  const files = slides.map((_, n) => `slides/slide${n + 1}.xml`);
  const shapes = ([title, text]: readonly [string, string]): string =>
    (title === "" ? "" : shape(title, '<p:ph type="title"/>')) + shape(text, "");
  const slide = (of: readonly [string, string]): string => `<p:sld ${P}><p:cSld><p:spTree>${shapes(of)}</p:spTree></p:cSld></p:sld>`;
  return zipOf({
    "ppt/presentation.xml": `<p:presentation ${P}><p:sldIdLst>${files.map((_, n) => `<p:sldId id="${256 + n}" r:id="rId${n + 1}"/>`).join("")}</p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": relationships(files, "slide"),
    ...Object.fromEntries(slides.map((of, n) => [`ppt/${files[n]}`, slide(of)])),
    ...more,
  });
}

const X = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`;

/** Sheets by their names, each the XML of its rows. Cells of style 1 are dates. */
export function sampleXlsx(sheets: Record<string, string>, more: Record<string, Uint8Array> = {}): Buffer {
  const files = Object.keys(sheets).map((_, n) => `worksheets/sheet${n + 1}.xml`);
  const names = Object.keys(sheets).map((name, n) => `<sheet name="${name}" sheetId="${n + 1}" r:id="rId${n + 1}"/>`);
  return zipOf({
    "xl/workbook.xml": `<workbook ${X} xmlns:r="${OFFICE}"><sheets>${names.join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relationships(files, "worksheet"),
    "xl/styles.xml": `<styleSheet ${X}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, n) => [`xl/${files[n]}`, `<worksheet ${X}><sheetData>${rows}</sheetData></worksheet>`]),
    ),
    ...more,
  });
}

/** A row of an XLSX; numbers that are given as Date are dates by their style. */
export function sheetRow(row: number, cells: readonly (string | number | Date)[]): string {
  const shown = cells.map((cell, at) => {
    const place = `r="${String.fromCharCode(65 + at)}${row}"`;
    if (typeof cell === "string") return cell === "" ? "" : `<c ${place} t="inlineStr"><is><t>${cell}</t></is></c>`;
    const days = typeof cell === "number" ? cell : cell.getTime() / 86_400_000 + 25_569;
    return `<c ${place}${typeof cell === "number" ? "" : ' s="1"'}><v>${days}</v></c>`;
  });
  return `<row r="${row}">${shown.join("")}</row>`;
}

const urn = (name: string): string => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`;

/** An ODT of this body, such as `<text:p>words</text:p>`. */
export function sampleOdt(body: string, more: Record<string, string | Uint8Array> = {}): Buffer {
  const content = `<office:document-content ${urn("office")} ${urn("text")} ${urn("table")}><office:body><office:text>${body}</office:text></office:body></office:document-content>`;
  return zipOf({ mimetype: ODT, "content.xml": content, ...more });
}

/** As LibreOffice marks what it has encrypted. */
export const encryptedOdt = (): Buffer =>
  sampleOdt("", {
    "META-INF/manifest.xml": `<manifest:manifest ${urn("manifest")}><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml" manifest:size="10"><manifest:encryption-data manifest:checksum-type="SHA1/1K" manifest:checksum="AAAA"><manifest:algorithm manifest:algorithm-name="Blowfish CFB" manifest:initialisation-vector="AAAAAAAAAAA="/><manifest:key-derivation manifest:key-derivation-name="PBKDF2" manifest:iteration-count="1024" manifest:salt="AAAAAAAAAAAAAAAAAAAAAA=="/></manifest:encryption-data></manifest:file-entry></manifest:manifest>`,
  });
