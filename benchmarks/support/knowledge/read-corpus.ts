import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

export interface CorpusDocument {
  title: string;
  bytes: Buffer;
}

const PACKAGES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const README = /^readme\.(?:md|markdown)$/i;
/** Smaller READMEs say little. The few larger ones would be a third of all chunks. */
const MIN_BYTES = 3_000;
const MAX_BYTES = 14_000;
const MIN_HEADINGS = 3;
const HEADING_LINE = /^ {0,3}(?:#{1,6} \S|={3,}\s*$|-{3,}\s*$)/gm;

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
}

async function packageNames(): Promise<string[]> {
  const names = await foldersIn(PACKAGES);
  const scoped = names.filter((name) => name.startsWith("@"));
  const inScopes = await Promise.all(
    scoped.map(async (scope) => (await foldersIn(path.join(PACKAGES, scope))).map((name) => `${scope}/${name}`)),
  );
  return [...names.filter((name) => !name.startsWith("@")), ...inScopes.flat()].sort();
}

/**
 * The READMEs of the packages that package-lock.json pins, of 3,000 to 14,000 bytes and with headings, by name: the same on every machine.
 */
export async function readCorpus(): Promise<CorpusDocument[]> {
  const documents: CorpusDocument[] = [];
  const seen = new Set<string>();
  for (const title of await packageNames()) {
    const file = (await readdir(path.join(PACKAGES, title))).find((name) => README.test(name));
    if (file === undefined) continue;
    const bytes = await readFile(path.join(PACKAGES, title, file));
    const text = bytes.toString("utf8");
    // When two packages ship one README, a question cannot mean one of them.
    if (bytes.length < MIN_BYTES || bytes.length > MAX_BYTES || seen.has(text)) continue;
    if ((text.match(HEADING_LINE) ?? []).length < MIN_HEADINGS) continue;
    seen.add(text);
    documents.push({ title, bytes });
  }
  return documents;
}
