import { fileURLToPath } from "node:url";
import { PDFLoader } from "@langchain/community/document_loaders/fs/pdf";
import { getDocument, VerbosityLevel, version } from "pdfjs-dist/legacy/build/pdf.mjs";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";

/** Where pdf.js finds what it needs for Chinese, Japanese and Korean text whose font is not in the file. */
const FILES = fileURLToPath(new URL("./", import.meta.resolve("pdfjs-dist/package.json")));

type GetDocumentOptions = Extract<Parameters<typeof getDocument>[0], { verbosity?: unknown }>;

/** A Chinese line of so many characters was broken by the width of the page and not by its author. */
const FULL_LINE = 15;

/**
 * Reads a PDF page by page, with LangChain's PDFLoader over pdf.js itself. The loader's default, pdf-parse, brings 35 MB of native code, has
 * no character maps for Chinese, and reads every page before their number can be checked.
 */
export async function readPdf(bytes: Uint8Array<ArrayBuffer>, { pages }: Pick<DocumentLimits, "pages">): Promise<DocumentPart[]> {
  const open = (options: GetDocumentOptions) => {
    const { promise } = getDocument({
      ...options,
      verbosity: VerbosityLevel.ERRORS,
      cMapUrl: `${FILES}cmaps/`,
      cMapPacked: true,
      standardFontDataUrl: `${FILES}standard_fonts/`,
    });
    return {
      promise: promise.then((document) => {
        if (document.numPages <= pages) return document;
        throw new UnreadableReason(`it has ${document.numPages} pages, more than the ${pages} allowed. Split it into smaller documents.`);
      }),
    };
  };
  const pdfjs = async () => ({ isV2: false as const, version, getDocument: open });
  const documents = await new PDFLoader(new Blob([bytes]), { pdfjs }).load().catch((error: unknown) => {
    throw reasonOf(error);
  });
  return documents.map(({ pageContent, metadata }) => ({
    heading: "",
    text: joinChineseLines(pageContent),
    page: (metadata.loc as { pageNumber: number }).pageNumber,
  }));
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
