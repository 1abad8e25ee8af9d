import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { isNativeError } from "node:util/types";
import { createGunzip } from "node:zlib";
import type { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { End, FORMAT_VERSION, Header } from "./exported-tables.ts";

export interface RowLine {
  kind: string;
  /** From 1. */
  number: number;
  /** Postgres parses the row from it, so that no number loses a digit. */
  text: string;
  columns: string[];
}

export interface ReadParts {
  file: string;
  rows: ReadonlyMap<string, z.ZodObject>;
  schema: number;
  onBytes?: (done: number, total: number) => void;
}

/** A document of 20 MiB in hexadecimal. */
const LONGEST_LINE = 64 * 1024 * 1024;
const GZIP = Buffer.from([0x1f, 0x8b]);
const CUT = "The export is not whole: it was cut off, or changed. Nothing was restored. Take another copy of it.";

const refuse = (problem: string, cause?: unknown): AppError => new AppError("invalid_request", problem, { cause });

async function openText(file: string): Promise<{ text: Readable; bytesRead: () => number; size: number }> {
  try {
    await using handle = await open(file);
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    const bytes = createReadStream(file);
    const isCompressed = buffer.subarray(0, bytesRead).equals(GZIP);
    const text = isCompressed ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
    return { text: text.setEncoding("utf8"), bytesRead: () => bytes.bytesRead, size };
  } catch (cause) {
    throw refuse(`The file "${file}" cannot be read. Name an export that is there.`, cause);
  }
}

/** Throws AppError `invalid_request` for a very long line or a truncated file. */
async function* splitLines({ file, onBytes = () => undefined }: ReadParts): AsyncGenerator<string> {
  const { text, bytesRead, size } = await openText(file);
  let parts: string[] = [];
  let length = 0;
  try {
    for await (const piece of text as AsyncIterable<string>) {
      onBytes(bytesRead(), size);
      const lines = piece.split("\n");
      const last = lines.pop() ?? "";
      for (const line of lines) {
        yield parts.join("") + line;
        parts = [];
        length = 0;
      }
      parts.push(last);
      length += last.length;
      if (length > LONGEST_LINE) throw refuse("The file has a line of more than 64 MiB: it is no export.");
    }
  } catch (error) {
    if (isNativeError(error) && "code" in error && String(error.code).startsWith("Z_")) throw refuse(CUT, error);
    throw error;
  }
  if (length > 0) throw refuse(CUT);
}

function parseLine(line: string, number: number): { kind?: unknown; row?: unknown } {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw refuse(`Line ${number} is no JSON. ${CUT}`, cause);
  }
  throw refuse(`Line ${number} is no JSON object. ${CUT}`);
}

function check<Value>(schema: z.ZodType<Value>, value: unknown, number: number, place: string): Value {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${[place, ...path.map(String)].filter(Boolean).join(".")}: ${message}`);
  throw refuse(`Line ${number}: ${problems.join("; ")}. Nothing was restored.`);
}

function checkHeader(line: { kind?: unknown }, schema: number): void {
  const header = check(Header, line, 1, "");
  if (header.version > FORMAT_VERSION || header.schema > schema) {
    throw refuse(
      `The export is newer than this service: format ${header.version}, schema ${header.schema}; this service knows format ${FORMAT_VERSION}, schema ${schema}.` +
        " Nothing was restored. Update the service first.",
    );
  }
}

/**
 * The validated rows of an export, in order. Throws AppError `invalid_request` when it is none, newer than the database, truncated, changed
 * or has an invalid row. Truncation may show only at the end.
 */
export async function* readLines(parts: ReadParts): AsyncGenerator<RowLine> {
  const hash = createHash("sha256");
  const counts = new Map<string, number>();
  let number = 0;
  let isEnded = false;
  for await (const line of splitLines(parts)) {
    number++;
    if (isEnded) throw refuse(`Line ${number} stands behind the last one. ${CUT}`);
    const value = parseLine(line, number);
    if (number === 1) checkHeader(value, parts.schema);
    else if (value.kind === "end") {
      const { rows, sha256 } = check(End, value, number, "");
      const isCounted = Object.entries(rows).every(([kind, count]) => count === (counts.get(kind) ?? 0));
      if (!isCounted || sha256 !== hash.digest("hex")) throw refuse(CUT);
      isEnded = true;
    } else {
      const kind = String(value.kind);
      const schema = parts.rows.get(kind);
      if (!schema) throw refuse(`Line ${number}: kind: "${kind.slice(0, 80)}" is nothing that this service keeps. Nothing was restored.`);
      check(schema, value.row, number, kind);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      yield { kind, number, text: line, columns: Object.keys(value.row as object) };
    }
    if (!isEnded) hash.update(`${line}\n`);
  }
  if (!isEnded) throw refuse(CUT);
}
