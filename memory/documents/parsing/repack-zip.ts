import { type UnzipFileInfo, unzipSync, zipSync } from "fflate";
import { type DocumentLimits, UnreadableReason } from "./document.ts";

const NEEDED = /\.(?:xml|rels)$|^mimetype$/i;
const MAX_ENTRIES = 10_000;

/**
 * Packs an office file's XML again, uncompressed: readers would unpack a zip bomb whole. It adds up stated sizes, and fflate cuts an entry
 * at its stated size. `holds` is the file that proves the type.
 */
export function repackZip(
  bytes: Uint8Array,
  { expandedBytes }: Pick<DocumentLimits, "expandedBytes">,
  { called, holds }: { called: string; holds: RegExp },
): Uint8Array<ArrayBuffer> {
  let expanded = 0;
  let entries = 0;
  const filter = ({ name, size, originalSize }: UnzipFileInfo): boolean => {
    if (++entries > MAX_ENTRIES) throw new UnreadableReason(`it is a zip of more than ${MAX_ENTRIES} files, which no ${called} file is.`);
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
  if (!Object.keys(files).some((name) => holds.test(name))) {
    throw new UnreadableReason(`it is a zip but no ${called} file. Send it with the type that it has.`);
  }
  return zipSync(files, { level: 0 });
}
