import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, toAppError } from "../errors/app-error.ts";
import { callService, type RunningService, SERVICE_OPTIONS } from "./call-service.ts";
import { belowProgress, showProgress } from "./progress-bar.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run ingest -- KB FOLDER [--url URL] [--key KEY] [--description TEXT]    brings a folder of documents into a knowledge base
The service must be running. A file that is there already is replaced. A knowledge base that does not exist is made;
without --description it is described by the titles and headings of its documents.`;

const TYPES: Record<string, string> = {
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".markdown": "text/markdown",
  ".html": "text/html",
  ".htm": "text/html",
  ".csv": "text/csv",
  ".pdf": "application/pdf",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ".odt": "application/vnd.oasis.opendocument.text",
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

const options = { ...SERVICE_OPTIONS, description: { type: "string" } } as const;

interface Ingestion extends RunningService {
  kb: string;
  folder: string;
  description: string | undefined;
}

async function ingest({ kb, folder, description, ...service }: Ingestion): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new AppError("invalid_request", `The folder "${folder}" cannot be read. Name one that exists.`, { cause });
  });
  const base = `/api/v1/knowledge/${encodeURIComponent(kb)}`;
  const call = async <Body>(address: string, init?: RequestInit): Promise<Body> =>
    (await (await callService(service, address, init)).json()) as Body;
  const known = await call<{ knowledge: { kb_prefix: string }[] }>("/api/v1/knowledge");
  if (description !== undefined || !known.knowledge.some(({ kb_prefix }) => kb_prefix === kb)) {
    await call(base, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ description }) });
  }
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  const waiting = files.filter((file) => TYPES[path.extname(file).toLowerCase()] !== undefined).sort();
  const skipped = files.filter((file) => !waiting.includes(file)).sort();
  const total = waiting.length;
  const failures: Failure[] = [];
  const under = new Map<string, string>();

  async function send(file: string): Promise<void> {
    const query = new URLSearchParams({ title: path.basename(file), external_id: file.slice(-200) }).toString();
    const type = TYPES[path.extname(file).toLowerCase()] ?? "";
    try {
      const bytes = await readFile(path.join(folder, file));
      const { id } = await call<ShownDocument>(`${base}/documents?${query}`, {
        method: "POST",
        headers: { "content-type": type },
        body: bytes,
      });
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
  console.log(belowProgress(`${indexed} documents in "${kb}", ${failures.length} failed, ${skipped.length} files of other types left out`));
  for (const { file, why } of failures.sort((one, other) => (one.file < other.file ? -1 : 1))) console.log(`${file}: ${why}`);
  for (const file of skipped) console.log(`${file}: left out, its type cannot be read`);
  if (failures.length > 0) process.exitCode = 1;
}

await runCommand({ usage: USAGE, options, words: [2, 2] }, async ({ values: { url, key, description }, positionals }) => {
  const [kb = "", folder = ""] = positionals;
  await ingest({ url, key, description, kb, folder });
});
