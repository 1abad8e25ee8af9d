import { fileURLToPath } from "node:url";
import { PDFLoader } from "@langchain/community/document_loaders/fs/pdf";
import { getDocument, VerbosityLevel, version } from "pdfjs-dist/legacy/build/pdf.mjs";
import { WorkerMessageHandler } from "pdfjs-dist/legacy/build/pdf.worker.mjs";
import { packageFile } from "../../../errors/package-file.ts";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";

/** pdf.js's character maps for text whose font is not in the file. */
const FILES = fileURLToPath(packageFile("dist/pdfjs/"));

// pdf.js would import its other half from a file that a bundle lacks.
Object.assign(globalThis, { pdfjsWorker: { WorkerMessageHandler } });

type GetDocumentOptions = Extract<Parameters<typeof getDocument>[0], { verbosity?: unknown }>;

/** Characters of a full Chinese line, which the page's width has broken. */
const FULL_LINE = 15;

/**
 * Reads a PDF page by page, with LangChain's PDFLoader over pdf.js. Its default, pdf-parse, brings 35 MB of native code, has no Chinese
 * character maps and reads all pages before counting them.
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
  return documents.map(({ pageContent }) => ({ heading: "", text: joinChineseLines(pageContent) }));
}

function joinChineseLines(text: string): string {
  const joint = new RegExp(`(?<=[\\p{Script=Han}，、；“”（）《》]{${FULL_LINE}})\\n(?=\\p{Script=Han})`, "gu");
  return text.replaceAll(joint, "");
}

/** Explains errors of pdf.js by their names. Other errors stay as they are. */
function reasonOf(error: unknown): unknown {
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordException")
    return new UnreadableReason("it is protected by a password. Upload a copy without one.", { cause: error });
  if (error instanceof UnreadableReason || error instanceof RangeError || !/^(?:InvalidPDF|Unknown|Format)|^Error$/.test(name))
    return error;
  return new UnreadableReason("it is damaged or incomplete. Export it again and upload the new file.", { cause: error });
}
