import { randomBytes } from "node:crypto";
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { callApi } from "../../support/clients/api-client.ts";
import { problemOf } from "./fuzz-answer.ts";
import { canaryTurn, complaintsOf, useServiceProcess } from "./fuzz-world.ts";
import { makeKnowledgeClient, type ShownDocument } from "../../support/clients/knowledge-client.ts";
import { DOCX, PDF, pdfOf, sampleDocx, wordParagraph } from "../../memory/documents/parsing/sample-documents.ts";
import { ODT, PPTX, sampleOdt, samplePptx, sampleXlsx, sheetRow, XLSX } from "../../memory/documents/parsing/sample-office-files.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { waitUntil } from "../../support/wait-until.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 20_260_101);
const FILES = Number(process.env["FUZZ_FILES"] ?? 100);
const TYPES = [
  PDF,
  DOCX,
  PPTX,
  XLSX,
  ODT,
  "text/html",
  "text/csv",
  "text/markdown",
  "text/plain",
  "image/png",
  "text/html; charset=gb18030",
  "text/plain; charset=x",
];

type Random = (below: number) => number;
const WHOLE = [
  pdfOf("The ferry leaves at noon."),
  sampleDocx(wordParagraph("Ferries", 1) + wordParagraph("leave at noon.")),
  samplePptx([["Ferries", "leave at noon."]]),
  sampleXlsx({ Ferries: sheetRow(1, ["from", "at"]) + sheetRow(2, ["Porto", 12]) }),
  sampleOdt("<text:h>Ferries</text:h><text:p>leave at noon.</text:p>"),
  Buffer.from("<html><body><table><tr><td>a</td></tr></table><p>x</p></body></html>"),
  Buffer.from('a,b\n1,"2\n"'),
  Buffer.from("# Title\n\n- x\n  - y\n"),
];

function hostileFile(random: Random): { type: string; bytes: Buffer } {
  const which = random(WHOLE.length);
  const whole = WHOLE[which] ?? Buffer.alloc(0);
  const type = TYPES[random(3) === 0 ? random(TYPES.length) : which] ?? PDF;
  const way = random(6);
  if (way === 0) return { type, bytes: whole.subarray(0, random(whole.length)) };
  if (way === 1) return { type, bytes: Buffer.from(whole.map((byte) => (random(40) === 0 ? random(256) : byte))) };
  if (way === 2) return { type, bytes: Buffer.concat([whole, randomBytes(random(500)), whole]) };
  if (way === 3) return { type, bytes: randomBytes(random(5_000)) };
  const deep = ["<div>", "> ", "- ".padEnd(9), "((", '"', "\0", "[".repeat(5)][random(7)] ?? "";
  if (way === 4) return { type, bytes: Buffer.from(deep.repeat(2_000 + random(8_000))) };
  return { type: PDF, bytes: pdfOf("x", { stream: "/Filter/FlateDecode", more: [deflateSync(Buffer.alloc(10_000)).toString("latin1")] }) };
}

async function allDocuments(url: string, kb: string): Promise<ShownDocument[]> {
  const found: ShownDocument[] = [];
  for (let after = ""; ;) {
    const address = `${url}/api/v1/knowledge/${kb}/documents?limit=200${after}`;
    const { json } = await callApi<{ documents: ShownDocument[]; next: string | null }>(address);
    found.push(...json.documents);
    if (json.next === null) return found;
    after = `&after=${json.next}`;
  }
}

describe(`a service that gets hostile documents, with FUZZ_SEED=${SEED},`, () => {
  const service = useServiceProcess();

  test(`refuses each of ${FILES} documents, indexes it, or marks it as failed with a reason`, async () => {
    const random = makeSeededRandom(SEED);
    const client = makeKnowledgeClient(service.url);
    await client.put("hostile", { description: "What somebody sent." });
    const problems: string[] = [];
    const statuses = new Map<number, number>();
    for (let number = 0; number < FILES; number++) {
      const { type, bytes } = hostileFile(random);
      const answer = await client.upload("hostile", { title: `file ${number}` }, type, new Uint8Array(bytes));
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const problem = problemOf("", false, { ...answer, headers: Object.fromEntries(answer.headers) });
      if (problem !== undefined || ![202, 400, 415, 422].includes(answer.status))
        problems.push(`${answer.status} ${problem} ${answer.text.slice(0, 300)}: ${type} ${bytes.subarray(0, 300).toString("latin1")}`);
    }
    expect(problems).toEqual([]);
    expect(statuses.get(202)).toBeGreaterThan(FILES / 10);
    await canaryTurn(service.url, "canary among documents");
    const read = async () => (await allDocuments(service.url, "hostile")).every(({ status }) => status !== "pending");
    await waitUntil("every document is indexed or failed", read, 8 * 60_000);
    const failed = (await allDocuments(service.url, "hostile")).filter(({ status }) => status === "failed");
    expect(failed.filter(({ error }) => !error)).toEqual([]);
    expect(complaintsOf(service)).toEqual([]);
    await canaryTurn(service.url, "canary after documents");
  }, 600_000);
});
