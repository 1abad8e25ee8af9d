import { dsvFormat } from "d3-dsv";
import type { DocumentPart } from "./document.ts";

/** Excel writes ";" where "," is the decimal sign. */
const SEPARATORS = [",", ";", "\t"] as const;

export function readCsv(text: string): DocumentPart[] {
  return readTable(dsvFormat(separatorOf(text)).parseRows(text));
}

/**
 * Makes each row lines of "column: value" under the first row of several cells; anything above it is a title. Rows are arrays: an object
 * would lose columns of one name and cells beyond the header.
 */
export function readTable(table: readonly (readonly string[])[]): DocumentPart[] {
  const rows = table
    .map((cells) => cells.map((cell) => cell.replaceAll(/\s+/g, " ").trim()))
    .filter((cells) => cells.some((cell) => cell !== ""));
  const header = Math.max(
    0,
    rows.findIndex((cells) => filled(cells).length > 1),
  );
  const columns = rows[header] ?? [];
  const records = rows.slice(header + 1).map((cells) => cells.map((cell, at) => cell && `${columns[at] || `column ${at + 1}`}: ${cell}`));
  const shown = [...rows.slice(0, header), ...(records.length === 0 ? [columns] : records)];
  return shown.map((cells) => ({ heading: "", text: filled(cells).join("\n") }));
}

const filled = (cells: readonly string[]): string[] => cells.filter((cell) => cell !== "");

function separatorOf(text: string): string {
  const start = text.trimStart();
  const end = start.indexOf("\n");
  const line = end < 0 ? start : start.slice(0, end);
  const counts = SEPARATORS.map((separator) => dsvFormat(separator).parseRows(line)[0]?.length ?? 0);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ",";
}
