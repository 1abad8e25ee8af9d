import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { AppError, toAppError } from "../errors/app-error.ts";
import { showProgress } from "./progress-bar.ts";

const USAGE = `npm run ingest -- KB FOLDER [--url URL] [--key KEY] [--description TEXT]    brings a folder of documents into a knowledge base
The service must be running. A file that is there already is replaced. A knowledge base that does not exist is made.`;

const TYPES: Record<string, string> = {
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".markdown": "text/markdown",
  ".html": "text/html",
  ".htm": "text/html",
  ".csv": "text/csv",
  ".pdf": "application/pdf",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
};
const SIDE_BY_SIDE = 4;
const POLL_MS = 500;

interface ShownDocument {
  id: string;
  status: "pending" | "indexed" | "failed";
  error: string | null;
}

interface Failure {
  file: string;
  why: string;
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        url: { type: "string", default: `http://127.0.0.1:${process.env["PORT"] ?? "8000"}` },
        key: { type: "string" },
        description: { type: "string" },
      },
    });
    const [kb, folder] = positionals;
    if (kb && folder && positionals.length === 2) return { ...values, kb, folder };
  } catch {
    // An option that is not known: the usage says which are.
  }
  throw new AppError("invalid_request", USAGE);
}

async function call<Body>(
  address: string,
  init: RequestInit & { headers?: Record<string, string> },
  key: string | undefined,
): Promise<Body> {
  const headers = { ...init.headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  const response = await fetch(address, { ...init, headers }).catch((cause: unknown) => {
    throw new AppError("storage_unavailable", `${address} does not answer. Start the service with npm start.`, { cause });
  });
  const body = (await response.json()) as Body & { error?: { message: string } };
  if (!response.ok) throw new AppError("invalid_request", body.error?.message ?? `status ${response.status}`);
  return body;
}

async function run(): Promise<void> {
  const { kb, folder, url, key, description } = readArguments();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new AppError("invalid_request", `The folder "${folder}" cannot be read. Name one that exists.`, { cause });
  });
  const base = `${url}/api/v1/knowledge/${encodeURIComponent(kb)}`;
  const known = await call<{ knowledge: { kb_prefix: string }[] }>(`${url}/api/v1/knowledge`, {}, key);
  if (description !== undefined || !known.knowledge.some(({ kb_prefix }) => kb_prefix === kb)) {
    const body = JSON.stringify({ description: description ?? path.basename(path.resolve(folder)) });
    await call(base, { method: "PUT", headers: { "content-type": "application/json" }, body }, key);
  }
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  const waiting = files.filter((file) => TYPES[path.extname(file).toLowerCase()] !== undefined).sort();
  const total = waiting.length;
  const skipped = files.length - total;
  const failures: Failure[] = [];
  const under = new Map<string, string>();

  async function send(file: string): Promise<void> {
    const query = new URLSearchParams({ title: path.basename(file), external_id: file.slice(-200) }).toString();
    const type = TYPES[path.extname(file).toLowerCase()] ?? "";
    try {
      const bytes = await readFile(path.join(folder, file));
      const { id } = await call<ShownDocument>(
        `${base}/documents?${query}`,
        { method: "POST", headers: { "content-type": type }, body: bytes },
        key,
      );
      under.set(id, file);
    } catch (error) {
      failures.push({ file, why: toAppError(error).message });
    }
  }

  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await send(file);
  };
  const sending = Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  let indexed = 0;
  for (let sent = false; ;) {
    sent = await Promise.race([sending.then(() => true), sleep(POLL_MS, false)]);
    for (let after: string | null = ""; after !== null && under.size > 0;) {
      const page: { documents: ShownDocument[]; next: string | null } = await call(
        `${base}/documents?limit=200${after ? `&after=${after}` : ""}`,
        {},
        key,
      );
      for (const { id, status, error } of page.documents) {
        const file = under.get(id);
        if (file === undefined || status === "pending") continue;
        under.delete(id);
        if (status === "indexed") indexed++;
        else failures.push({ file, why: error ?? "it cannot be read" });
      }
      after = page.next;
    }
    showProgress(indexed + failures.length, total, "documents");
    if (sent && under.size === 0) break;
    if (sent) await sleep(POLL_MS);
  }
  console.log(`\n${indexed} documents in "${kb}", ${failures.length} failed, ${skipped} files of other types left out`);
  for (const { file, why } of failures.sort((one, other) => (one.file < other.file ? -1 : 1))) console.log(`${file}: ${why}`);
  if (failures.length > 0) process.exitCode = 1;
}

try {
  await run();
} catch (error) {
  console.error(toAppError(error).message);
  process.exitCode = 1;
}
