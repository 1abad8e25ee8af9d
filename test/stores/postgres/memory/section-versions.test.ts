import { beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../turn/owner.ts";
import { loadVersions } from "../../../../stores/postgres/memory/section-versions.ts";
import { contentsOf, teach } from "../../../support/samples/core-memory.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";

describeStores("the sources of the lines of a section", ({ database, erases, complete }) => {
  let owner: Owner;
  let turns: { conversationId: string; messageId: string }[];
  beforeEach(async () => {
    owner = { tenantId: uuidv7(), userId: uuidv7() };
    turns = [];
    for (let turn = 0; turn < 3; turn++) turns.push(await complete({ ...owner, sessionId: "session" }));
  });

  const turn = (number: number) => turns[number] ?? { conversationId: "", messageId: "" };
  /** As a process of the version before writes: a version, the section and nothing of lines. */
  async function writeAsBefore(version: number, content: string, number: number): Promise<void> {
    const { conversationId, messageId } = turn(number);
    const values = [owner.tenantId, owner.userId, version, content, conversationId, messageId];
    await database.query({
      text: `insert into core_memory_versions (tenant_id, user_id, section, version, content, updated_by, said_at, conversation_id, trigger_message_id, created_at)
        values ($1, $2, 'profile', $3::int, $4, 'agent', now(), $5::uuid, $6::uuid, now())`,
      values: values.map(String),
    });
    await database.query({
      text: `insert into core_memory_sections (tenant_id, user_id, section, content, version, updated_by, said_at, updated_at)
        values ($1, $2, 'profile', $4, $3::int, 'agent', now(), now())
        on conflict (tenant_id, user_id, section) do update set content = excluded.content, version = excluded.version`,
      values: values.slice(0, 4).map(String),
    });
  }
  const resting = async (isLastEnough = false) =>
    (await loadVersions(database, owner, { isLastEnough }))
      .get("profile")
      ?.map(({ version, lines }) => [
        version,
        lines.map((line) => [line.content, line.triggerMessageIds.map((id) => turns.findIndex(({ messageId }) => messageId === id))]),
      ]);
  const storedLines = () => database.query({ text: "select * from core_memory_lines where tenant_id = $1", values: [owner.tenantId] });
  const learn = (content: string, number: number) =>
    teach(database, owner, { content, conversationId: turn(number).conversationId, triggerMessageIds: [turn(number).messageId] });

  test("is told by comparing versions where a process of the version before wrote them, between others too", async () => {
    await writeAsBefore(1, "Lives in Porto", 0);
    await writeAsBefore(2, "Lives in Porto\nLikes tea", 1);
    await learn("Likes tea\nHas a cat", 2);
    await writeAsBefore(4, "Has a cat\nSails", 0);
    const last = [4, [["Has a cat", [2]], ["Sails", [0]]]]; // prettier-ignore
    const third = [3, [["Likes tea", [1]], ["Has a cat", [2]]]]; // prettier-ignore
    expect(await resting()).toEqual([
      [1, [["Lives in Porto", [0]]]],
      [2, [["Lives in Porto", [0]], ["Likes tea", [1]]]], // prettier-ignore
      third,
      last,
    ]);
    expect(await resting(true)).toEqual([third, last]);
    await erases.episode(owner, turn(0).messageId);
    // What it had left out is back, what it had brought in is gone.
    expect(await contentsOf(database, owner)).toEqual({ profile: "Likes tea\nHas a cat" });
  });

  test("is told anew of a version whose text a process of the version before has changed", async () => {
    await learn("Lives in Porto\nLikes tea", 0);
    await database.query({ text: "update core_memory_versions set content = 'Likes tea' where tenant_id = $1", values: [owner.tenantId] });
    expect(await storedLines()).toEqual([]);
    expect(await resting()).toEqual([[1, [["Likes tea", [0]]]]]);
  });

  test("goes with its versions, and holds no word of them", async () => {
    await learn("Lives in Porto", 0);
    const rows = await storedLines();
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain("Porto");
    await database.query({ text: "delete from core_memory_versions where tenant_id = $1", values: [owner.tenantId] });
    expect(await storedLines()).toEqual([]);
  });
});
