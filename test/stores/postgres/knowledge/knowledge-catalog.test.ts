import { expect, test } from "@jest/globals";
import { makeKnowledgeBaseStore } from "../../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { interceptStatements } from "../../../support/databases/record-statements.ts";
import { useOpened } from "../../../support/use-opened.ts";

const TRIPS = { prefix: "trips", description: "trains and planes", keywords: ["train"] };
const DOCUMENT = `
insert into knowledge_documents (id, tenant_id, prefix, title, content_type, status, created_at, updated_at)
values (gen_random_uuid(), $1, 'trips', $2, 'text/plain', 'indexed', now(), now())`;

describeOnBothDatabases("the catalog of knowledge bases in two processes", (open) => {
  const opened = useOpened(open);

  /** A store like that of another process, and for each of its listings whether the rows were sent. */
  function openStore() {
    const sent: boolean[] = [];
    const database = interceptStatements(opened, async (_statement, run) => {
      const rows = await run();
      const [{ 0: answer }] = rows as [{ 0: { rows: unknown } }];
      sent.push(Boolean(answer.rows));
      return rows;
    });
    const store = makeKnowledgeBaseStore(database);
    return { sent, list: async () => (await store.list("tenant")).map(({ description, titles }) => [description, titles]) };
  }

  test("is sent once, and again after any write of either: a base, a title, a deletion", async () => {
    const writer = makeKnowledgeBaseStore(opened);
    const reader = openStore();
    await writer.put("tenant", TRIPS);
    await writer.put("another", { ...TRIPS, description: "of another tenant" });
    expect(await reader.list()).toEqual([["trains and planes", []]]);
    expect(await reader.list()).toEqual([["trains and planes", []]]);
    expect(reader.sent).toEqual([true, false]);

    await writer.put("tenant", { ...TRIPS, description: "ships" });
    expect(await reader.list()).toEqual([["ships", []]]);
    await opened.query({ text: DOCUMENT, values: ["tenant", "Timetable"] });
    expect(await reader.list()).toEqual([["ships", ["Timetable"]]]);
    expect(await reader.list()).toEqual([["ships", ["Timetable"]]]);
    await writer.remove("tenant", "trips");
    expect(await reader.list()).toEqual([]);
    expect(await reader.list()).toEqual([]);
    expect(reader.sent).toEqual([true, false, true, true, false, true, false]);
  });
});
