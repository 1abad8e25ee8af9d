import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeJobQueue } from "../../../../stores/jobs/job-queue.ts";
import { jobKey } from "../../../../stores/jobs/job.ts";
import { makeChunkStore } from "../../../../stores/postgres/knowledge/chunk-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeDocumentStore } from "../../../../stores/postgres/knowledge/document-store.ts";
import { restoreExport } from "../../../../stores/postgres/export/restore-export.ts";
import {
  EXPORTED_TABLES,
  NOT_EXPORTED,
  readColumns,
  rowSchema,
  SCHEMAS_NOT_EXPORTED,
} from "../../../../stores/postgres/export/exported-tables.ts";
import { makeForkStore } from "../../../../stores/postgres/conversations/fork-store.ts";
import { makeAgentStore, makeRuleStore } from "../../../../stores/postgres/agents/agent-store.ts";
import { makeSkillStore } from "../../../../stores/postgres/agents/skill-store.ts";
import { permissionQuestion } from "../../../../agents/questions/questions.ts";
import type { WaitingState } from "../../../../turn/resumed-turn.ts";
import { makeQuestionStore } from "../../../../stores/postgres/agents/question-store.ts";
import { makeStepStore } from "../../../../stores/postgres/agents/step-store.ts";
import { AgentSpec } from "../../../../turn/agent.ts";
import { makeKnowledgeBaseStore } from "../../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { findBegunTurn } from "../../../../stores/postgres/turns/recover-turn.ts";
import { makeUsageStore, makeTokenUsageStore } from "../../../../stores/postgres/usage/usage-store.ts";
import { addTurnsToReread } from "../../../../stores/postgres/memory/turns-to-reread.ts";
import { teach, versionsOf } from "../../../support/samples/core-memory.ts";
import { openTestEmbedded, openTestPostgres } from "../../../support/databases/databases.ts";
import { createExportFolder, readRows, rowLines, type ExportFolder } from "./export-files.ts";
import { storesOf } from "../../../support/databases/describe-stores.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { linkedPicture, samplePicture } from "../../../support/samples/sample-pictures.ts";
import { rememberConversation } from "../../../support/samples/user-with-memory.ts";

const ADA = { tenantId: "acme", userId: "艾达 🦊" };
const BOB = { tenantId: "acme", userId: "bob" };
const EVE = { tenantId: "other", userId: "bob" };
const ODD = `电影《索拉里斯》 👩‍🚀 "quoted" \\ back \n line \r\n \u2028 $& {{x}} \u0001`;

const RATE = `
insert into message_ratings (message_id, conversation_id, value, comment, rated_at)
select messages.id, conversation_id, 1, $3, '2026-11-20T10:11:12.345Z' from messages join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2 and role = 'assistant'`;

const BRANCH = `
insert into branches (id, conversation_id, label, created_at, updated_at)
select id, id, $3, created_at, updated_at from conversations where tenant_id = $1 and user_id = $2`;

const SNAPSHOT = `
insert into snapshots (id, conversation_id, branch_id, message_id, message_created_at, label, created_at)
select messages.id, conversation_id, conversation_id, messages.id, messages.created_at, $3, messages.created_at
from messages join conversations on conversations.id = conversation_id where tenant_id = $1 and user_id = $2`;

/** Something in every table that is exported, of three people and two tenants. */
async function fill(database: Database): Promise<{ running: string; pending: string }> {
  for (const [owner, word, section] of [
    [ADA, "索拉里斯 🚀", "profile"],
    [BOB, "plums", "profile"],
    [EVE, "figs", "goals"],
  ] as const) {
    const { exchanges } = await rememberConversation(database, owner, word, section);
    const questions = exchanges.map(({ messageId }) => messageId);
    await addTurnsToReread(database, owner, questions);
    await database.query({ text: BRANCH, values: [owner.tenantId, owner.userId, `of ${word}`] });
    await database.query({ text: SNAPSHOT, values: [owner.tenantId, owner.userId, `of ${word}`] });
    await database.query({ text: "update conversations set path = branch_path(id, id), remembered_path = branch_path(id, id)" });
    await database.query({ text: RATE, values: [owner.tenantId, owner.userId, `of ${word}`] });
    await makeForkStore(database).fork({ ...owner, conversationId: exchanges[0]?.conversationId ?? "", at: null, sessionId: "forked" });
  }
  await teach(database, ADA, { section: "profile", content: ODD, actor: "person" });
  const createdAt = new Date("2021-03-04T05:06:07.089Z");
  const messages = [
    { role: "user" as const, content: ODD, createdAt, metadata: { external_id: "1", nested: [{ 数: 1.5e-7 }, null], text: ODD } },
    { role: "assistant" as const, content: "记住了", createdAt: new Date("2021-03-04T05:06:08Z"), metadata: {} },
  ];
  const { imports, begin } = storesOf(database);
  await imports.import({ ...ADA, sessionId: "imported", messages, jobKinds: [] });
  await findBegunTurn(database, { ...BOB, turnId: uuidv7() }); // a turn that never began
  const running = await begin({ ...BOB, sessionId: "running", message: "still open" });
  for (const owner of [ADA, BOB, EVE])
    await begin({ ...owner, sessionId: "pictures", message: "", pictures: [samplePicture(), linkedPicture()] });
  await makeKnowledgeBaseStore(database).put("acme", { prefix: "travel", description: "旅行", keywords: ["tram", "电车"] });
  const documents = makeDocumentStore(database);
  const place = { tenantId: "acme", prefix: "travel" };
  const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
  const read = await documents.add(place, { title: "Lisbon", contentType: "text/plain", bytes, externalId: "1", metadata: { page: 1 } });
  const chunks = makeChunkStore(database);
  await chunks.saveChunks({ tenantId: "acme", documentId: read.id }, [{ position: 0, heading: "Trams", text: ODD }]);
  await chunks.publish({ tenantId: "acme", documentId: read.id });
  const pending = await documents.add(place, { title: "Porto", contentType: "text/plain", bytes, externalId: null, metadata: {} });
  for (const tenant of ["acme", "other"]) {
    await makeAgentStore(database).put(tenant, "helper", AgentSpec.parse({ description: ODD, tools: ["calculate"] }));
    await makeRuleStore(database).put(tenant, [{ name: ODD, when: { tool: ODD }, priority: 1, action: "refuse", message: ODD }]);
    await makeSkillStore(database).put(tenant, "helper", { description: ODD, files: { "SKILL.md": ODD } });
  }
  const steps = makeStepStore(database);
  const questions = makeQuestionStore(database);
  const call = { seq: 1, id: "call_1", name: "calculate", arguments: "{}" };
  for (const owner of [ADA, BOB, EVE]) {
    const said = owner === ADA ? ODD : "plums";
    const turn = { ...owner, turnId: uuidv7() };
    const { conversationId } = await begin({ ...turn, sessionId: "with tools", message: "six times seven" });
    const held = { ...turn, conversationId };
    const step = { seq: 1, agent: "helper", kind: "tool", name: "calculate", callId: "call_1", arguments: { text: said } } as const;
    await steps.begin(held, [{ ...step, ruling: { type: "permission", answer: "allow" } }]);
    await steps.end(held, { seq: 1, output: said, ok: true, tokens: 3 });
    const run = { task: 0, path: ["helper"], ok: true, toolCalls: 1, tokens: 9, cost: { input_usd: 1e-7, output_usd: 0.1 }, ms: 12.5 };
    await steps.noteAgent(held, { name: "helper", interaction: "answered", state: said, run });
    const asked = {
      ...permissionQuestion("helper", call, { digest: "digest", mayHaveRun: false }),
      id: uuidv7(),
      agent: "helper",
      path: ["helper"],
      task: 0,
      seq: 2,
      resume: {} as WaitingState,
    };
    await questions.ask(held, { ...asked, question: said });
    await questions.answer(owner, asked.id, { value: "allow_always", text: said, allowAlways: true }, 1_000);
  }
  const used = {
    calls: 1,
    estimatedCalls: 1,
    unpricedCalls: 0,
    promptTokens: 9,
    completionTokens: 3,
    cachedTokens: 4,
    inputUsd: 0.1,
    outputUsd: 1e-7,
  };
  const calls = { ...used, day: "2026-11-20", model: "模型", purpose: "chat", began: performance.now() } as const;
  await makeUsageStore(database).add([ADA, BOB, EVE].map((owner) => ({ ...calls, ...owner })));
  await makeTokenUsageStore(database).add("acme", "2026-11-20", 12_345_678_901);
  return { running: running.conversationId, pending: pending.id };
}

const COLUMNS = `
select table_schema as schema, table_name as "table", column_name as name, column_default as "default", is_generated = 'ALWAYS' as "isGenerated"
from information_schema.tables join information_schema.columns using (table_catalog, table_schema, table_name)
where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;

interface CatalogueColumn {
  schema: string;
  table: string;
  name: string;
  default: string | null;
  isGenerated: boolean;
}

describe.each([
  ["embedded PGlite to real Postgres", openTestEmbedded, openTestPostgres],
  ["real Postgres to embedded PGlite", openTestPostgres, openTestEmbedded],
])("an export from %s", (_name, openSource, openTarget) => {
  const [source, target] = [useOpened(openSource), useOpened(openTarget)];
  let folder: ExportFolder;
  let file: string;
  let filled: Awaited<ReturnType<typeof fill>>;
  let catalogue: CatalogueColumn[];
  beforeAll(async () => {
    folder = await createExportFolder();
    catalogue = await source.query<CatalogueColumn>({ text: COLUMNS });
    filled = await fill(source);
    file = await folder.save(source);
  });
  afterAll(() => folder.remove());

  test("holds every table there is, or exported-tables.ts says why not", () => {
    const names = catalogue.filter(({ schema }) => !(schema in SCHEMAS_NOT_EXPORTED)).map(({ schema, table }) => `${schema}.${table}`);
    const decided = [...EXPORTED_TABLES.map(({ name }) => name), ...Object.keys(NOT_EXPORTED)].map((name) => `public.${name}`);
    expect([...new Set(names)].toSorted()).toEqual(decided.toSorted());
  });

  test("holds every column of its tables, or exported-tables.ts says why not", async () => {
    for (const { table, columns } of await readColumns(source)) {
      const there = catalogue.filter((column) => column.table === table.name && !column.isGenerated).map(({ name }) => name);
      const decided = [...columns.map(({ name }) => name), ...Object.keys(table.omitted ?? {})];
      expect({ table: table.name, columns: decided.toSorted() }).toEqual({ table: table.name, columns: there.toSorted() });
    }
  });

  test("can say of every row what it must look like, and orders it by a primary key", async () => {
    for (const table of await readColumns(source)) {
      expect(() => rowSchema(table)).not.toThrow();
      expect({ table: table.table.name, key: table.columns.some(({ keyPosition }) => keyPosition !== null) }).toMatchObject({ key: true });
    }
  });

  test("has no column that is counted up by a sequence, which a restore would not move on", () => {
    const exported = new Set(EXPORTED_TABLES.map(({ name }) => name));
    expect(catalogue.filter((column) => exported.has(column.table) && column.default?.includes("nextval"))).toEqual([]);
  });

  test("holds something of every table, and exported again after a restore the same lines", async () => {
    const rows = await readRows(file);
    expect(Object.keys(rows)).toEqual(EXPORTED_TABLES.map(({ name }) => name));
    expect(rows["turns"]?.filter((row) => row["question_id"] === null)).toEqual([]);
    const stored = await restoreExport({ database: target, file });
    expect([...stored.values()].reduce((sum, count) => sum + count, 0)).toBe((await rowLines(file)).length);
    expect(await rowLines(await folder.save(target))).toEqual(await rowLines(file));
  });

  test("restored, has the turn that was running ended, its lease free, and times and bytes as they were", async () => {
    const text = "select turn_id, turn_lease_until from conversations where id = $1";
    expect(await target.query({ text, values: [filled.running] })).toEqual([{ turn_id: null, turn_lease_until: null }]);
    const document = await makeChunkStore(target).findDocument({ tenantId: "acme", documentId: filled.pending });
    expect([...(document?.bytes ?? [])].slice(-300)).toEqual(Array.from({ length: 300 }, (_, index) => (69_700 + index) % 256));
    const times = "select created_at from messages where metadata->>'external_id' = '1'";
    expect(await target.query({ text: times })).toEqual([{ created_at: new Date("2021-03-04T05:06:07.089Z") }]);
    expect(await versionsOf(target, ADA)).toEqual(await versionsOf(source, ADA));
  });

  test("restored, has a job for every conversation, user and document that something may be left to do for", async () => {
    const jobs = (await makeJobQueue(target).claim(100)).map(({ job }) => job);
    const ids = async (table: string) => (await target.query<{ id: string }>({ text: `select id from ${table}` })).map(({ id }) => id);
    const expected = [
      ...(await ids("conversations")).flatMap((id) => [`index_episodes/${id}`, `summarise/${id}`]),
      ...(await ids("knowledge_documents")).map((id) => `ingest/${id}`),
      ...[ADA, BOB, EVE].map((owner) => jobKey({ kind: "remember", ...owner })),
    ];
    expect(jobs.map(jobKey).toSorted()).toEqual(expected.toSorted());
  });

  test("restored, leaves to the memory agent what it had not read, then what it is to read again, and nothing else", async () => {
    const unread = (database: Database, owner: typeof ADA) => storesOf(database).unread.next(owner, 40);
    expect((await unread(target, ADA))?.messages.map(({ content }) => content)).toEqual([ODD, "记住了"]);
    for (const owner of [ADA, BOB, EVE]) expect(await unread(target, owner)).toEqual(await unread(source, owner));
    for (const owner of [BOB, EVE]) expect((await unread(target, owner))?.again).toHaveLength(2);
    await target.query({ text: "delete from turns_to_read_again" });
    for (const owner of [BOB, EVE]) expect(await unread(target, owner)).toBeNull();
  });

  const tables = EXPORTED_TABLES.map(({ name }) => name);
  test.each([
    ["one user", BOB, tables.filter((name) => !/^(knowledge_|token_|agent_v|agents$|tenant_|skills$)/.test(name)), /figs|索拉里斯/, 5],
    ["one tenant", { tenantId: "acme" }, tables, /figs/, 10],
    ["nobody", { tenantId: "acme", userId: uuidv7() }, [], /./, 0],
  ])("of %s holds what belongs to it in every table, and nothing else", async (_whose, scope, expected, foreign, conversations) => {
    const part = await folder.save(source, scope);
    const rows = await readRows(part);
    expect(Object.keys(rows)).toEqual(expected);
    expect((await rowLines(part)).join("\n")).not.toMatch(foreign);
    expect(rows["conversations"] ?? []).toHaveLength(conversations);
    const empty = await openTarget();
    await restoreExport({ database: empty, file: part });
    expect(await rowLines(await folder.save(empty))).toEqual(await rowLines(part));
    await empty.close();
  });
});
