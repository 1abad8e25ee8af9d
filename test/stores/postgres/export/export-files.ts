import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { exportLines, inReadTransaction } from "../../../../stores/postgres/export/export-lines.ts";
import type { ExportScope } from "../../../../stores/postgres/export/exported-tables.ts";

/** A line of an export, parsed. */
export type ExportedLine = { kind: string; row: Record<string, unknown>; [field: string]: unknown };

/** A folder for the exports of a test file. */
export interface ExportFolder {
  at(name: string): string;
  /** Exports as it is, not compressed; the file's path. */
  save(database: Database, scope?: ExportScope): Promise<string>;
  /** A new file of these bytes. */
  write(bytes: string | Uint8Array): Promise<string>;
  remove(): Promise<void>;
}

export async function createExportFolder(): Promise<ExportFolder> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-export-"));
  let files = 0;
  const next = (): string => path.join(folder, `${++files}.jsonl`);
  return {
    at: (name) => path.join(folder, name),
    async save(database, scope = {}) {
      const file = next();
      await inReadTransaction(database, (transaction) => pipeline(exportLines(transaction, scope), createWriteStream(file)));
      return file;
    },
    async write(bytes) {
      const file = next();
      await writeFile(file, bytes);
      return file;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The text of an export, compressed or not. */
export async function readExport(file: string): Promise<string> {
  const bytes = await readFile(file);
  return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString("utf8");
}

/** The lines of an export that are rows: the first has its time, and the last a SHA-256 over that. */
export const rowLines = async (file: string): Promise<string[]> => (await readExport(file)).split("\n").slice(1, -2);

export const parseLines = (text: string): ExportedLine[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ExportedLine);

/** Rows by table. */
export async function readRows(file: string): Promise<Record<string, Record<string, unknown>[]>> {
  const rows: Record<string, Record<string, unknown>[]> = {};
  for (const { kind, row } of parseLines(await readExport(file)).slice(1, -1)) (rows[kind] ??= []).push(row);
  return rows;
}

/** An export of these lines, with the last line that belongs to them. */
export function sealLines(lines: readonly object[]): string {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const counts: Record<string, number> = {};
  for (const { kind } of lines.slice(1) as ExportedLine[]) counts[kind] = (counts[kind] ?? 0) + 1;
  const sha256 = createHash("sha256").update(body).digest("hex");
  return `${body}${JSON.stringify({ kind: "end", rows: counts, sha256 })}\n`;
}

export const compress = (text: string): Buffer => gzipSync(text);
