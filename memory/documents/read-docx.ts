import mammoth from "mammoth";
import type { DocumentLimits } from "./document-limits.ts";
import type { DocumentPart } from "./parsed-document.ts";
import { readHtml } from "./read-html.ts";
import { repackDocx } from "./repack-docx.ts";
import { UnreadableReason } from "./unreadable-reason.ts";

/** Word's "heading 1" to "heading 6" are known to mammoth; these are not. */
const STYLES = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='标题'] => h1:fresh",
  ...[1, 2, 3, 4, 5, 6].map((level) => `p[style-name='标题 ${level}'] => h${level}:fresh`),
];

/**
 * A Word document by its headings. LangChain's DocxLoader takes mammoth's raw text, which has neither headings nor tables, so mammoth makes
 * HTML of it and that is read like a page.
 */
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
