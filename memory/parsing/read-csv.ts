import { dsvFormat } from "d3-dsv";
import type { DocumentPart } from "./document.ts";

/** Excel writes ";" where "," is the decimal sign. */
const SEPARATORS = [",", ";", "\t"] as const;

/** Makes each row lines of "column: value". Rows are arrays: an object would lose columns of one name and cells beyond the header. */
export function readCsv(text: string): DocumentPart[] {
  const rows = dsvFormat(separatorOf(text))
    .parseRows(text)
    .map((cells) => cells.map((cell) => cell.replaceAll(/\s+/g, " ").trim()))
    .filter((cells) => cells.some((cell) => cell !== ""));
  const [columns = [], ...records] = rows;
  if (records.length === 0) return [{ heading: "", text: columns.join("\n") }];
  return records.map((cells) => ({
    heading: "",
    text: cells
      .map((cell, at) => (cell === "" ? "" : `${columns[at] || `column ${at + 1}`}: ${cell}`))
      .filter((line) => line !== "")
      .join("\n"),
  }));
}

function separatorOf(text: string): string {
  const start = text.trimStart();
  const end = start.indexOf("\n");
  const line = end < 0 ? start : start.slice(0, end);
  const counts = SEPARATORS.map((separator) => dsvFormat(separator).parseRows(line)[0]?.length ?? 0);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ",";
}
