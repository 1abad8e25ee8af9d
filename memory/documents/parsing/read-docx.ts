import mammoth from "mammoth";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";
import { readHtml } from "./read-html.ts";
import { repackZip } from "./repack-zip.ts";

/** Heading styles that mammoth does not know. */
const STYLES = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='标题'] => h1:fresh",
  ...[1, 2, 3, 4, 5, 6].map((level) => `p[style-name='标题 ${level}'] => h${level}:fresh`),
];

/** Lets mammoth turn a Word document into HTML with headings and tables. */
export async function readDocx(bytes: Uint8Array, limits: Pick<DocumentLimits, "expandedBytes">): Promise<DocumentPart[]> {
  const buffer = Buffer.from(repackZip(bytes, limits, { called: "DOCX", holds: /^word\/.*\.xml$/i }));
  const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
  const { value } = await mammoth
    .convertToHtml({ buffer }, { styleMap: STYLES, convertImage, includeEmbeddedStyleMap: false })
    .catch((cause) => {
      if (cause instanceof RangeError) throw cause;
      throw new UnreadableReason("its Word document is damaged or incomplete. Save it again and upload the new file.", { cause });
    });
  return readHtml(value);
}
