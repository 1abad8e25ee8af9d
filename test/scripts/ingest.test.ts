import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { openServiceWithEpisodes, type ServiceWithEpisodes } from "../support/services/service-with-episodes.ts";

const run = promisify(execFile);
const INGEST = fileURLToPath(new URL("../../scripts/ingest.ts", import.meta.url));
const ingest = (...words: string[]) => run(process.execPath, [INGEST, ...words], { env: { PATH: process.env["PATH"] }, cwd: "/" });

describe("npm run ingest", () => {
  let running: ServiceWithEpisodes;
  let folder: string;
  beforeAll(async () => {
    running = await openServiceWithEpisodes();
    folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-ingest-"));
    await mkdir(path.join(folder, "deep"));
    await Promise.all([
      writeFile(path.join(folder, "hotels.md"), "# Hotels\n\nThe limit in Lisbon is 140 euros."),
      writeFile(path.join(folder, "deep", "trains.txt"), "First class is allowed on long trains."),
      writeFile(path.join(folder, "empty.txt"), ""),
      writeFile(path.join(folder, "broken.pdf"), `%PDF-1.4 ${"nothing ".repeat(30)}`),
      writeFile(path.join(folder, "photo.png"), "png"),
    ]);
  }, 60_000);
  afterAll(async () => {
    await running.close();
    await rm(folder, { recursive: true });
  });

  test("brings in what it can read, says what failed and why, and ends with status 1", async () => {
    const failure = await ingest("handbook", folder, "--url", running.url).catch((error: unknown) => error);
    const { code, stdout, stderr } = failure as { code: number; stdout: string; stderr: string };
    expect(code).toBe(1);
    expect(stdout).toContain('2 documents in "handbook", 2 failed, 1 files of other types left out');
    expect(stdout).toMatch(/^broken\.pdf: .*broken\.pdf.*$/m);
    expect(stdout).toMatch(/^empty\.txt: .*empty.*$/m);
    expect(stderr).toContain("100 %  4 of 4 documents");
    const documents = await makeKnowledgeClient(running.url).list("handbook");
    const indexed = documents.filter(({ status }) => status === "indexed").map(({ external_id }) => external_id);
    expect(indexed.sort()).toEqual(["deep/trains.txt", "hotels.md"]);
  });

  test("replaces what it brought in before", async () => {
    await Promise.all(["empty.txt", "broken.pdf"].map((name) => rm(path.join(folder, name))));
    await writeFile(path.join(folder, "hotels.md"), "# Hotels\n\nThe limit in Lisbon is 155 euros.");
    const { stdout } = await ingest("handbook", folder, "--url", running.url);
    expect(stdout).toContain('2 documents in "handbook", 0 failed');
    const documents = await makeKnowledgeClient(running.url).list("handbook");
    expect(documents.filter(({ external_id }) => external_id === "hotels.md")).toHaveLength(1);
  });

  test.each([[[]], [["handbook"]], [["handbook", "x", "y"]], [["handbook", "x", "--colour", "red"]]])(
    "%j ends with status 1 and says how it is used",
    async (words) => {
      await expect(ingest(...words)).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining("npm run ingest -- KB FOLDER") as unknown,
      });
    },
  );

  test("says that the service must run, and names a folder that is not there", async () => {
    await expect(ingest("handbook", folder, "--url", "http://127.0.0.1:9")).rejects.toMatchObject({
      stderr: expect.stringContaining("Start the service with npm start") as unknown,
    });
    await expect(ingest("handbook", "/nowhere/at/all", "--url", running.url)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("/nowhere/at/all") as unknown,
    });
  });
});
