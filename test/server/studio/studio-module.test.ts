import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { createDataFolder } from "../../servers/data-folder.ts";

/** In the control file of Postgres, behind the identifier of the system and two versions: 1 is "shut down", 6 is "in production". */
async function stateOfCluster(folder: string): Promise<number> {
  return (await readFile(path.join(folder, "postgres/global/pg_control"))).readUInt32LE(16);
}

test("studio.ts opens one store for a process, loaded anew or not, gives each request its own checkpointer, and closes at SIGTERM", async () => {
  const { folder, remove } = await createDataFolder();
  const script = fileURLToPath(new URL("./studio-module.ts", import.meta.url));
  const child = spawn(process.execPath, [script], {
    cwd: "/",
    env: { PATH: process.env["PATH"], DATA_DIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const exited = once(child, "exit");
    const [line] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer];
    const seen = JSON.parse(String(line)) as { kept: number; answer: string };
    expect(seen.kept).toBe(2);
    expect(seen.answer).toContain("Calypso");
    expect(await stateOfCluster(folder)).toBe(6);
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
    expect(await stateOfCluster(folder)).toBe(1);
  } finally {
    child.kill("SIGKILL");
    await remove();
  }
});
