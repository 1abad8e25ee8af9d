import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../support/databases/databases.ts";

const run = promisify(execFile);
const AUDIT = fileURLToPath(new URL("../../scripts/audit.ts", import.meta.url));
const OWNER = { tenantId: "default", userId: "ada" };

describe("npm run audit", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  beforeAll(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
    await makeCoreMemoryStore(database).put(OWNER, { section: "profile", content: "Lives in Porto." });
  });
  afterAll(async () => {
    await database.close();
    await real.drop();
  });
  const audit = (...words: string[]) =>
    run(process.execPath, [AUDIT, ...words], { env: { PATH: process.env["PATH"], DATABASE_URL: real.url }, cwd: "/" });

  test("lists what every store holds of a user and ends with status 2; after an erase there is nothing, and status 0", async () => {
    await expect(audit("--user", "ada")).rejects.toMatchObject({
      code: 2,
      stdout: [
        "public.core_memory_lines: 1",
        "public.core_memory_sections: 1",
        "public.core_memory_versions: 1",
        "public.memory_operations: 1",
        '4 places hold something of user "ada"',
        "",
      ].join("\n"),
    });
    expect((await audit("--user", "ada", "--tenant", "other")).stdout).toBe('nothing of user "ada"\n');
    await makeEraseStore(database).user(OWNER);
    expect((await audit("--user", "ada")).stdout).toBe('nothing of user "ada"\n');
  });

  test("says that it has not looked into a Milvus that is not configured, and ends with status 1", async () => {
    const add = `insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at, left_at)
      values ('episodes_left', 'episodes', 'leaving episodes_left', 'milvus', 'e', 8, now(), now())`;
    await database.query({ text: add });
    const looked = audit("--user", "nobody").finally(() =>
      database.query({ text: "delete from search_indexes where name = 'episodes_left'" }),
    );
    await expect(looked).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/episodes_left in Milvus.*MILVUS_ADDRESS/) as unknown,
    });
  });

  test.each([[[]], [["--user", ""]], [["ada"]], [["--user", "ada", "--colour", "red"]]])(
    "%j ends with status 1 and says how it is used",
    async (words) => {
      await expect(audit(...words)).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining("npm run audit -- --user ID") as unknown,
      });
    },
  );
});
