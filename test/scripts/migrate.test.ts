import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { createRealDatabase } from "../support/databases/databases.ts";

const run = promisify(execFile);
const MIGRATE = fileURLToPath(new URL("../../scripts/migrate.ts", import.meta.url));

const migrate = (environment: Record<string, string>) =>
  run(process.execPath, [MIGRATE], { env: { PATH: process.env["PATH"], ...environment }, cwd: "/" });

describe("npm run migrate", () => {
  test("migrates what DATABASE_URL names, and says so", async () => {
    const { url, drop } = await createRealDatabase();
    const { stdout } = await migrate({ DATABASE_URL: url }).finally(drop);
    expect(stdout).toMatch(/^Postgres at 127\.0\.0\.1:\d+\/test_\w+: nothing to do\n$/);
  });

  test("applies every migration to an embedded database that is new", async () => {
    const { stdout } = await migrate({ DATA_DIR: "memory://" });
    expect(stdout).toMatch(/^embedded PGlite in memory: applied 0001_conversations\.sql/);
  });

  test("ends with status 1 and one clear line when the database cannot be reached", async () => {
    await expect(migrate({ DATABASE_URL: "postgres://nobody:secret@127.0.0.1:9/none" })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Postgres at 127\.0\.0\.1:9\/none cannot be used \(ECONNREFUSED\)[^\n]*\n$/) as unknown,
    });
  });
});
