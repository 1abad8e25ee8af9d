import { execFile } from "node:child_process";
import { glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import typescript from "typescript";
import { DOCX, PDF, pdfOf, sampleDocx, wordParagraph } from "./sample-documents.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
let built: string;

/** As `npm run build` makes dist/, but these files alone and never out of date. */
beforeAll(async () => {
  built = await mkdtemp(path.join(os.tmpdir(), "built-documents-"));
  await writeFile(path.join(built, "package.json"), JSON.stringify({ type: "module" }));
  await symlink(path.join(root, "node_modules"), path.join(built, "node_modules"));
  const compilerOptions = {
    target: typescript.ScriptTarget.ESNext,
    module: typescript.ModuleKind.ESNext,
    rewriteRelativeImportExtensions: true,
    verbatimModuleSyntax: true,
  };
  for await (const file of glob("{errors/*,memory/parsing/*,models/deadlines,text/storable-text}.ts", { cwd: root })) {
    const source = await readFile(path.join(root, file), "utf8");
    const { outputText } = typescript.transpileModule(source, { compilerOptions, fileName: file });
    const target = path.join(built, file.replace(/ts$/, "js"));
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
});
afterAll(() => rm(built, { recursive: true, force: true }));

test("the built JavaScript reads every type in its worker, prints nothing and lets the process end", async () => {
  const texts = ["text/plain", "text/markdown", "text/csv", "text/html"].map((type) => [type, "words"] as const);
  const documents = [...texts, [PDF, pdfOf("words")] as const, [DOCX, sampleDocx(wordParagraph("words"))] as const].map(
    ([contentType, content]) => ({ contentType, content: Buffer.from(content).toString("base64") }),
  );
  const script = `
    const { parseDocument } = await import("./memory/parsing/parse-document.js");
    for (const { contentType, content } of ${JSON.stringify(documents)}) {
      const chunks = await parseDocument({ bytes: Buffer.from(content, "base64"), contentType, title: "t" }, new AbortController().signal);
      console.log(chunks.map(({ text }) => text).join());
    }`;
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: built });
  expect({ stdout, stderr }).toEqual({ stdout: "words\n".repeat(documents.length), stderr: "" });
});
