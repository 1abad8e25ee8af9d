import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { restoreExport } from "../../../../stores/postgres/export/restore-export.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase, openTestEmbedded, useTestEmbedded, useTestPostgres } from "../../../support/databases/databases.ts";
import {
  compress,
  createExportFolder,
  parseLines,
  readExport,
  rowLines,
  sealLines,
  type ExportedLine,
  type ExportFolder,
} from "./export-files.ts";
import { rememberConversation } from "../../../support/samples/user-with-memory.ts";

const OWNER = { tenantId: "acme", userId: "ada" };

describe("a restore", () => {
  const source = useTestEmbedded();
  const target = useTestPostgres();
  let folder: ExportFolder;
  let text: string;
  let lines: ExportedLine[];
  beforeAll(async () => {
    folder = await createExportFolder();
    await rememberConversation(source, OWNER, "plums 李子");
    text = await readExport(await folder.save(source));
    lines = parseLines(text).slice(0, -1);
  });
  afterAll(() => folder.remove());

  /** The export with another row in place of the first one of a table, as somebody would make it who computes the SHA-256 anew. */
  const withRow = (kind: string, change: Record<string, unknown>): string => {
    const changed = structuredClone(lines);
    const line = changed.find((one) => one.kind === kind);
    if (!line) throw new Error(`no line of ${kind}`);
    line.row = { ...line.row, ...change };
    return sealLines(changed);
  };

  async function expectRefusal(bytes: string | Uint8Array, says: RegExp): Promise<void> {
    const refused = restoreExport({ database: target, file: await folder.write(bytes) });
    await expect(refused).rejects.toMatchObject({ name: "AppError", code: "invalid_request", message: expect.stringMatching(says) });
    for (const table of ["conversations", "messages", "core_memory_versions", "pgboss.job"])
      expect(await target.query({ text: `select from ${table}` })).toHaveLength(0);
  }

  test("of a file that was cut anywhere is refused, and nothing is stored", async () => {
    const whole = compress(text);
    const lengths = [0, 0.001, 0.3, 0.9].map((share) => Math.floor(whole.length * share));
    const cut = [...lengths, whole.length - 1].map((length) => whole.subarray(0, length));
    const withoutLastLine = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);
    for (const part of [...cut, text.slice(0, -1), withoutLastLine]) await expectRefusal(part, /cut off, or changed/);
  });

  test("of a file in which anything was changed is refused, and nothing is stored", async () => {
    await expectRefusal(text.replace("plums", "prunes"), /cut off, or changed/);
    const [first = "", second = "", ...others] = text.split("\n");
    await expectRefusal([first, ...others].join("\n"), /cut off, or changed/);
    await expectRefusal([first, second, second, ...others].join("\n"), /cut off, or changed/);
    await expectRefusal(`${text}${text}`, /stands behind the last one/);
    const flipped = compress(text);
    flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 0x10;
    await expectRefusal(flipped, /cut off, or changed|is no JSON/);
  });

  test.each([
    ["nothing", ""],
    ["a blank line", "\n"],
    ["words", "hello\n"],
    ["other JSON", '{"hello": 1}\n'],
    ["a list", "[]\n"],
    ["bytes", Uint8Array.from([0x1f, 0x8b, 1, 2, 3, 4, 5])],
  ])("of a file of %s is refused: it is no export", (_name, bytes) => expectRefusal(bytes, /cut off|Line 1/));

  test("of a file that is not there is refused by its name", async () => {
    await expect(restoreExport({ database: target, file: "/nowhere/at/all" })).rejects.toThrow('The file "/nowhere/at/all" cannot be read');
  });

  test("of an export of a newer schema or format is refused, and says which it knows", async () => {
    const [header = { kind: "header", row: {} }, ...rows] = lines;
    const schema = Number(header["schema"]);
    const newer = sealLines([{ ...header, schema: schema + 1 }, ...rows]);
    await expectRefusal(newer, new RegExp(`schema ${schema + 1}; this service knows .*schema ${schema}`));
    await expectRefusal(sealLines([{ ...header, version: 2 }, ...rows]), /format 2, .*this service knows format 1/);
  });

  test.each([
    ["messages", { id: "1" }, /^Line \d+: messages\.id: /],
    ["messages", { content: 7 }, /^Line \d+: messages\.content: /],
    ["messages", { content: "a\0b" }, /^Line \d+: messages\.content: holds a NUL/],
    ["messages", { content: "\ud83d" }, /^Line \d+: messages\.content: holds .*half of a surrogate pair/],
    ["messages", { metadata: { deep: ["\0"] } }, /^Line \d+: messages\.metadata: holds a NUL/],
    ["messages", { created_at: "yesterday" }, /^Line \d+: messages\.created_at: is no time/],
    ["messages", { completed: null, token_count: 1.5 }, /^Line \d+: messages\.completed: .*; messages\.token_count: /],
    ["messages", { colour: "red" }, /^Line \d+: messages: .*colour/],
    ["conversations", { message_count: 2 ** 31 }, /^Line 2: conversations\.message_count: /],
    ["conversations", { user_id: undefined }, /^Line 2: conversations\.user_id: /],
    ["messages", { role: "robot" }, /^One of the lines \d+ to \d+ \(messages\) .*not allowed/],
    ["messages", { conversation_id: uuidv7() }, /^One of the lines \d+ to \d+ \(messages\) does not go with the others/],
  ])("of a row of %s with %j is refused, with its line and field", (kind, change, says) => expectRefusal(withRow(kind, change), says));

  test.each([
    ["conversations", { active_branch_id: uuidv7() }],
    ["messages", { branch_id: uuidv7() }],
  ])("of a row of %s with %j is refused: there is no such branch", (kind, change) =>
    expectRefusal(withRow(kind, change), /has no way to the beginning/),
  );

  test.each([
    ["go in a circle", (first: string, second: string) => [second, first]],
    ["leave one that is not there", (first: string) => [uuidv7(), first]],
    ["leave themselves", (first: string, second: string) => [first, second]],
  ])("of branches that %s is refused", async (_what, parents) => {
    const at = "2026-11-25T10:00:00+00:00";
    const conversation = lines.find(({ kind }) => kind === "conversations")?.row["id"];
    const ids = [uuidv7(), uuidv7()] as const;
    const branches = ids.map((id, number) => ({
      kind: "branches",
      row: {
        id,
        conversation_id: conversation,
        parent_id: parents(...ids)[number],
        fork_message_id: uuidv7(),
        fork_created_at: at,
        created_at: at,
        updated_at: at,
      },
    }));
    const behind = lines.findLastIndex(({ kind }) => kind === "conversations") + 1;
    await expectRefusal(sealLines(lines.toSpliced(behind, 0, ...branches)), /has no way to the beginning/);
  });

  test.each([
    ["another user", 1],
    ["nobody", undefined],
  ])("of a fork that shares messages of %s is refused", async (_whose, number) => {
    const at = "2026-11-25T10:00:00+00:00";
    const conversations = lines.filter(({ kind }) => kind === "conversations");
    const source = number === undefined ? uuidv7() : conversations[number]?.row["id"];
    const [id, messageId] = [conversations[0]?.row["id"], uuidv7()];
    const basePath = { [String(source)]: [at, messageId, source] };
    const row = {
      conversation_id: id,
      origin_id: source,
      message_id: messageId,
      message_created_at: at,
      base_path: basePath,
      created_at: at,
    };
    const behind = lines.findLastIndex(({ kind }) => kind === "conversations") + 1;
    await expectRefusal(sealLines(lines.toSpliced(behind, 0, { kind: "forks", row })), /rests on messages that are not its user's/);
  });

  test("of a kind of line that nobody knows is refused, with its line", async () => {
    await expectRefusal(sealLines([...lines, { kind: "schema_migrations", row: { version: 99 } }]), /^Line \d+: kind: "schema_migrations"/);
    await expectRefusal(sealLines([...lines, { kind: 'messages" --', row: {} }]), /^Line \d+: kind: /);
  });

  test("of an export of an older schema gives columns that it did not have their defaults", async () => {
    const older = lines.map((line) => {
      if (line.kind === "header") return { ...line, schema: 1 };
      if (line.kind !== "conversations") return line;
      return { ...line, row: { ...line.row, rewrites: undefined } };
    });
    const database = await openTestEmbedded();
    await restoreExport({ database, file: await folder.write(sealLines(older)) });
    expect(await database.query({ text: "select rewrites from conversations" })).toEqual([{ rewrites: 0 }]);
    await database.close();
  });

  test("into a database that holds anything is refused, and says what; what is there stays as it is", async () => {
    const file = await folder.save(source);
    await expect(restoreExport({ database: source, file })).rejects.toThrow(
      /is not empty: it has rows in conversations, messages, .*Nothing was restored/,
    );
    expect(await rowLines(await folder.save(source))).toEqual(await rowLines(file));
  });

  test("beside another one into the same database is refused, and one of them is whole", async () => {
    const file = await folder.save(source);
    const both = await createRealDatabase();
    const databases = [await openPostgres(both.url), await openPostgres(both.url)];
    const outcomes = await Promise.allSettled(databases.map((database) => restoreExport({ database, file })));
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const [database] = databases;
    if (!database) throw new Error("no database");
    expect(await rowLines(await folder.save(database))).toEqual(await rowLines(file));
    for (const each of databases) await each.close();
    await both.drop();
  });

  test("of a compressed file stores what the plain one does", async () => {
    const file = await folder.write(compress(text));
    await restoreExport({ database: target, file });
    expect(await rowLines(await folder.save(target))).toEqual(await rowLines(file));
  });
});
