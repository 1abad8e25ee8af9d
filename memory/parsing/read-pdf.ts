import { fileURLToPath } from "node:url";
import { getDocument, type PDFDocumentProxy, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";

/** Where pdf.js finds what it needs for Chinese, Japanese and Korean text whose font is not in the file. */
const FILES = fileURLToPath(new URL("./", import.meta.resolve("pdfjs-dist/package.json")));

/** A Chinese line of so many characters was broken by the width of the page and not by its author. */
const FULL_LINE = 15;

/** Reads a PDF page by page. */
export async function readPdf(bytes: Uint8Array<ArrayBuffer>, { pages }: Pick<DocumentLimits, "pages">): Promise<DocumentPart[]> {
  try {
    const document = await getDocument({
      data: bytes,
      useWorkerFetch: false,
      useSystemFonts: true,
      verbosity: VerbosityLevel.ERRORS,
      cMapUrl: `${FILES}cmaps/`,
      cMapPacked: true,
      standardFontDataUrl: `${FILES}standard_fonts/`,
    }).promise;
    if (document.numPages > pages)
      throw new UnreadableReason(`it has ${document.numPages} pages, more than the ${pages} allowed. Split it into smaller documents.`);
    const parts: DocumentPart[] = [];
    for (let page = 1; page <= document.numPages; page++) {
      parts.push({ heading: "", text: joinChineseLines(await readPage(document, page)), page });
    }
    return parts;
  } catch (error) {
    throw reasonOf(error);
  }
}

/** The text of a page. Pieces at the same height are one line. */
async function readPage(document: PDFDocumentProxy, number: number): Promise<string> {
  const { items } = await (await document.getPage(number)).getTextContent();
  let text = "";
  let height: unknown;
  for (const item of items) {
    if (!("str" in item)) continue;
    const itemHeight: unknown = item.transform[5];
    text += height === undefined || itemHeight === height ? item.str : `\n${item.str}`;
    height = itemHeight;
  }
  return text;
}

function joinChineseLines(text: string): string {
  const joint = new RegExp(`(?<=[\\p{Script=Han}，、；“”（）《》]{${FULL_LINE}})\\n(?=\\p{Script=Han})`, "gu");
  return text.replaceAll(joint, "");
}

/** What a person can do about an error of pdf.js, which names its errors. Other errors stay as they are. */
function reasonOf(error: unknown): unknown {
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordException")
    return new UnreadableReason("it is protected by a password. Upload a copy without one.", { cause: error });
  if (error instanceof UnreadableReason || error instanceof RangeError || !/^(?:InvalidPDF|Unknown|Format)|^Error$/.test(name))
    return error;
  return new UnreadableReason("it is damaged or incomplete. Export it again and upload the new file.", { cause: error });
}
