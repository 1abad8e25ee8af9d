import mammoth from "mammoth";
import { type UnzipFileInfo, unzipSync, zipSync } from "fflate";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";
import { readHtml } from "./read-html.ts";

/** Heading styles that mammoth does not know. */
const STYLES = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='标题'] => h1:fresh",
  ...[1, 2, 3, 4, 5, 6].map((level) => `p[style-name='标题 ${level}'] => h${level}:fresh`),
];

/** mammoth turns a Word document into HTML with its headings and tables. */
export async function readDocx(bytes: Uint8Array, limits: Pick<DocumentLimits, "expandedBytes">): Promise<DocumentPart[]> {
  const buffer = Buffer.from(repackDocx(bytes, limits));
  const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
  const { value } = await mammoth
    .convertToHtml({ buffer }, { styleMap: STYLES, convertImage, includeEmbeddedStyleMap: false })
    .catch((cause) => {
      if (cause instanceof RangeError) throw cause;
      throw new UnreadableReason("its Word document is damaged or incomplete. Save it again and upload the new file.", { cause });
    });
  return readHtml(value);
}

const NEEDED = /\.(?:xml|rels)$/i;
const MAX_ENTRIES = 10_000;

/**
 * Packs the XML of a DOCX again, uncompressed: mammoth would unpack a zip bomb whole. The stated sizes are added up, and fflate cuts an
 * entry off at its stated size.
 */
function repackDocx(bytes: Uint8Array, { expandedBytes }: Pick<DocumentLimits, "expandedBytes">): Uint8Array {
  let expanded = 0;
  let entries = 0;
  const filter = ({ name, size, originalSize }: UnzipFileInfo): boolean => {
    if (++entries > MAX_ENTRIES) throw new UnreadableReason(`it is a zip of more than ${MAX_ENTRIES} files, which no Word document is.`);
    if (!NEEDED.test(name)) return false;
    expanded += Math.max(size, originalSize);
    if (expanded <= expandedBytes) return true;
    throw new UnreadableReason(`it unpacks to more than the ${expandedBytes} bytes allowed. Split it into smaller documents.`);
  };
  let files: Record<string, Uint8Array>;
  try {
    files = unzipSync(bytes, { filter });
  } catch (cause) {
    if (cause instanceof UnreadableReason) throw cause;
    throw new UnreadableReason("it is damaged or incomplete, its zip cannot be unpacked. Save it again and upload the new file.", {
      cause,
    });
  }
  if (!Object.keys(files).some((name) => /^word\/.*\.xml$/i.test(name))) {
    throw new UnreadableReason("it is a zip but no Word document. Upload the DOCX file itself.");
  }
  return zipSync(files, { level: 0 });
}
