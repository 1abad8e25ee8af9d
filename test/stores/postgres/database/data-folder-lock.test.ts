import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { lockDataFolder } from "../../../../stores/postgres/database/data-folder-lock.ts";
import { openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import { createDataFolder } from "../../../servers/data-folder.ts";

const LOCK_SOURCE = new URL("../../../../stores/postgres/database/data-folder-lock.ts", import.meta.url).href;
/** Takes the folder given as argument, says so, and holds it until it is killed. */
const HOLDER = `
import { lockDataFolder } from ${JSON.stringify(LOCK_SOURCE)};
await lockDataFolder(process.argv[1]);
console.log("locked");
setInterval(() => undefined, 60_000);`;

let folder: string;
let remove: () => Promise<void>;
beforeEach(async () => {
  ({ folder, remove } = await createDataFolder());
});
afterEach(() => remove());

const refusal = (): object => ({
  code: "invalid_configuration",
  message: `DATA_DIR "${folder}" is in use by another process. Stop that one, choose another DATA_DIR, or set DATABASE_URL to share a real Postgres.`,
});

describe("the lock of the data folder", () => {
  test("refuses a second holder in the same process, and is free after the release", async () => {
    const release = await lockDataFolder(folder);
    await expect(lockDataFolder(folder)).rejects.toMatchObject(refusal());
    release();
    (await lockDataFolder(folder))();
  });

  test("makes folders that are not there, and holds two at once", async () => {
    const releases = [await lockDataFolder(path.join(folder, "not", "there")), await lockDataFolder(path.join(folder, "two"))];
    for (const release of releases) release();
  });

  test("refuses what another process holds, and is free at once when that one was killed with SIGKILL", async () => {
    const holder = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", HOLDER, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(holder, "exit");
    const [said] = (await once(holder.stdout, "data")) as [Buffer];
    expect(said.toString()).toBe("locked\n");
    await expect(lockDataFolder(folder)).rejects.toMatchObject(refusal());
    holder.kill("SIGKILL");
    await exited;
    (await lockDataFolder(folder))();
  });
});

describe("an embedded database in a folder", () => {
  test("refuses a second one on the same folder, and opens again with its data after the close", async () => {
    const database = await openEmbeddedPostgres(folder);
    await database.query({ text: "create table kept as select 42 as answer" });
    await expect(openEmbeddedPostgres(folder)).rejects.toMatchObject(refusal());
    await database.close();

    const again = await openEmbeddedPostgres(folder);
    expect(await again.query({ text: "select answer from kept" })).toEqual([{ answer: 42 }]);
    await again.close();
  });

  test("leaves the folder free when it could not be opened", async () => {
    await writeFile(path.join(folder, "postgres/PG_VERSION"), "9\n");
    await expect(openEmbeddedPostgres(folder)).rejects.toThrow();
    (await lockDataFolder(folder))();
  });
});
