import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { DOCX, PDF, pdfOf, sampleDocx, wordParagraph } from "../memory/parsing/sample-documents.ts";
import { ODT, PPTX, sampleOdt, samplePptx, sampleXlsx, sheetRow, XLSX } from "../memory/parsing/sample-office-files.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";

const documents: readonly (readonly [string, string | Buffer])[] = [
  ["text/plain", "words"],
  ["text/markdown", "# words"],
  ["text/csv", "words\nwords"],
  ["text/html", "<p>words</p>"],
  [PDF, pdfOf("words")],
  [DOCX, sampleDocx(wordParagraph("words"))],
  [PPTX, samplePptx([["words", "words"]])],
  [XLSX, sampleXlsx({ words: sheetRow(1, ["words"]) })],
  [ODT, sampleOdt("<text:p>words</text:p>")],
];

let folder: string;
afterEach(async () => {
  await killServiceProcesses();
  await rm(folder, { recursive: true, force: true });
});

test("the service as it is built reads every type of document and has its page, its description and its documentation", async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-built-"));
  const service = await startServiceProcess({ DATA_DIR: folder });
  const knowledge = makeKnowledgeClient(service.url);
  expect((await knowledge.put("handbook", { description: "Words" })).status).toBe(201);
  for (const [type, bytes] of documents) {
    const body = typeof bytes === "string" ? bytes : new Uint8Array(bytes);
    expect(await knowledge.upload("handbook", { title: type }, type, body)).toMatchObject({ status: 202 });
  }
  const read = (await knowledge.settled("handbook")).map(({ title, status, error }) => ({ title, status, error }));
  expect(read.sort((one, other) => one.title.localeCompare(other.title))).toEqual(
    documents.map(([title]) => ({ title, status: "indexed", error: null })).sort((one, other) => one.title.localeCompare(other.title)),
  );
  for (const page of ["/", "/docs", "/docs/swagger-ui.css", "/openapi.json"]) expect((await fetch(service.url + page)).status).toBe(200);
  expect(service.output()).not.toMatch(/"level":[456]0|warning/i);
});
