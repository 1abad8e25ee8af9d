import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Writes a file for MODELS or MODEL_PROFILES; a text is written as it is. Returns its path. */
export function writeModelList(list: unknown): string {
  const file = join(mkdtempSync(join(tmpdir(), "models-")), "models.json");
  writeFileSync(file, typeof list === "string" ? list : JSON.stringify(list));
  return file;
}
