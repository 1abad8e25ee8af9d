import readSheets, { type CellValue } from "read-excel-file/universal";
import { type DocumentLimits, type DocumentPart, UnreadableReason } from "./document.ts";
import { readTable } from "./read-csv.ts";
import { repackZip } from "./repack-zip.ts";

/** Reads each sheet as a CSV file, under its name. Dates follow their format. */
export async function readXlsx(bytes: Uint8Array, limits: Pick<DocumentLimits, "expandedBytes">): Promise<DocumentPart[]> {
  const file = repackZip(bytes, limits, { called: "XLSX", holds: /^xl\/workbook\.xml$/i });
  const sheets = await readSheets(file.buffer).catch((cause: unknown) => {
    if (cause instanceof RangeError) throw cause;
    throw new UnreadableReason("it is damaged or incomplete. Save it again and upload the new file.", { cause });
  });
  return sheets.flatMap(({ sheet, data }) =>
    readTable(data.map((row) => row.map(shownValue))).map((part) => ({ ...part, heading: sheet })),
  );
}

/** The day before Excel's first: a time without a day, or a span of hours. */
const NO_DAY = Date.UTC(1899, 11, 30);
const FIRST_DAY = Date.UTC(1900, 0, 1);

function shownHours(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** Excel calculates with 15 digits. */
const DIGITS = 15;

function shownValue(value: CellValue | Date | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(Number(value.toPrecision(DIGITS)));
  if (!(value instanceof Date)) return String(value);
  const second = new Date(Math.round(value.getTime() / 1000) * 1000);
  if (second.getTime() >= NO_DAY && second.getTime() < FIRST_DAY) return shownHours((second.getTime() - NO_DAY) / 1000);
  return second.toISOString().replace(/T00:00:00\.000Z$|\.000Z$/, "");
}
