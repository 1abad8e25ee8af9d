import { type OfficeContentNode, type OfficeError, OfficeErrorType, OfficeParser } from "officeparser";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";
import { readHtml } from "./read-html.ts";
import { repackZip } from "./repack-zip.ts";

const FORMATS = {
  pptx: { called: "PPTX", holds: /^ppt\/slides\/.*\.xml$/i },
  odt: { called: "ODT", holds: /^content\.xml$/i },
};

/** Lets officeparser turn slides, with notes, and OpenDocument texts into HTML. */
export async function readOffice(
  bytes: Uint8Array,
  fileType: keyof typeof FORMATS,
  limits: Pick<DocumentLimits, "expandedBytes">,
): Promise<DocumentPart[]> {
  const file = repackZip(bytes, limits, FORMATS[fileType]);
  const left = { ignoreComments: true, ignoreHeadersAndFooters: true, ignoreSlideMasters: true };
  try {
    const document = await OfficeParser.parseOffice(file, { fileType, ...left, decompressionLimits: { maxTableCells: MAX_CELLS } });
    for (const node of document.content) if (node.type === "slide") nameSlide(node);
    return await readHtml((await document.to("html")).value);
  } catch (error) {
    throw reasonOf(error);
  }
}

/** An ODT's repeated cells count, though its XML holds them once. */
const MAX_CELLS = 100_000;

/** "Slide 2" stands above the title. */
function nameSlide(slide: OfficeContentNode & { type: "slide" }): void {
  const text = `Slide ${slide.metadata?.slideNumber ?? ""}`.trim();
  const children = slide.children ?? [];
  for (const child of children)
    if (child.type === "heading") child.metadata = { ...child.metadata, level: (child.metadata?.level ?? 1) + 1 };
  slide.children = [{ type: "heading", text, metadata: { level: 1 }, children: [{ type: "text", text }] }, ...children];
}

const REASONS: Partial<Record<string, string>> = {
  [OfficeErrorType.PASSWORD_REQUIRED]: "it is protected by a password. Upload a copy without one.",
  [OfficeErrorType.MAX_NESTING_DEPTH_EXCEEDED]: "it is nested too deeply. Simplify it or save it as plain text.",
  [OfficeErrorType.XML_ELEMENT_LIMIT_EXCEEDED]: "it has too many elements. Split it into smaller documents.",
};

function reasonOf(error: unknown): unknown {
  if (error instanceof RangeError) return error;
  const reason = REASONS[(error as OfficeError).officeIssue?.code ?? ""];
  return new UnreadableReason(reason ?? "it is damaged or incomplete. Save it again and upload the new file.", { cause: error });
}
