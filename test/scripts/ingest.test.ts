import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi } from "../support/clients/api-client.ts";
import { contentOf, postTurn } from "../support/clients/event-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { runScript } from "../support/run-script.ts";
import { useServiceWithEpisodes } from "../support/services/service-with-episodes.ts";

describe("npm run ingest", () => {
  const running = useServiceWithEpisodes();
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-ingest-"));
    await mkdir(path.join(folder, "deep"));
    await Promise.all([
      writeFile(path.join(folder, "hotels.md"), "# Hotels\n\nThe limit in Lisbon is 140 euros."),
      writeFile(path.join(folder, "deep", "trains.txt"), "First class is allowed on long trains."),
      writeFile(path.join(folder, "empty.txt"), ""),
      writeFile(path.join(folder, "broken.pdf"), `%PDF-1.4 ${"nothing ".repeat(30)}`),
      writeFile(path.join(folder, "photo.png"), "png"),
    ]);
  });
  afterAll(() => rm(folder, { recursive: true }));
  const ingest = (from = folder, url = running.url) => runScript("ingest", ["handbook", from, "--url", url]);

  test("uploads what it can read, says what failed and why, and ends with status 1", async () => {
    const { code, stdout, stderr } = await ingest();
    expect(code).toBe(1);
    expect(stdout).toContain('2 documents in "handbook", 2 failed, 1 files of other types left out');
    expect(stdout).toMatch(/^photo\.png: left out/m);
    expect(stdout).toMatch(/^broken\.pdf: .*broken\.pdf.*$/m);
    expect(stdout).toMatch(/^empty\.txt: .*empty.*$/m);
    expect(stderr).toContain("100 %  4 of 4 documents");
    const documents = await makeKnowledgeClient(running.url).list("handbook");
    const indexed = documents.filter(({ status }) => status === "indexed").map(({ external_id }) => external_id);
    expect(indexed.sort()).toEqual(["deep/trains.txt", "hotels.md"]);
    const { json } = await callApi<{ description: string }>(`${running.url}/api/v1/knowledge/handbook`);
    expect(json.description).toMatch(/^(?=.*hotels\.md: Hotels)(?=.*trains\.txt)/);
  });

  test("replaces what it uploaded before", async () => {
    await Promise.all(["empty.txt", "broken.pdf"].map((name) => rm(path.join(folder, name))));
    await writeFile(path.join(folder, "hotels.md"), "# Hotels\n\nThe limit in Lisbon is 155 euros.");
    expect((await ingest()).stdout).toContain('2 documents in "handbook", 0 failed');
    const documents = await makeKnowledgeClient(running.url).list("handbook");
    expect(documents.filter(({ external_id }) => external_id === "hotels.md")).toHaveLength(1);
  });

  test("makes a knowledge base that plain questions find and other turns leave alone", async () => {
    const told = async (message: string) => {
      const { events } = await postTurn(running.url, { user_id: "ada", session_id: message, message });
      return { route: contentOf(events, "route_decision"), titles: contentOf(events, "done").receipt.passages.map(({ title }) => title) };
    };
    expect(await told("What is the limit in Lisbon?")).toMatchObject({
      route: { kb_prefix: "handbook", method: "default", reason: "it is the only knowledge base; what fits of it is used" },
      titles: ["hotels.md"],
    });
    for (const message of ["我的狗叫小白", "My dog is called Rex.", "Hello!"])
      expect((await told(message)).route.kb_prefix).toBe("general");
    expect((await told("Tell me a joke")).titles).toEqual([]);
    const prompts = running.model.seen.map((request) => JSON.stringify(request));
    expect(prompts.filter((prompt) => prompt.includes("nothing in them fits"))).toEqual([]);
  });

  test("says that the service must run, and names a folder that does not exist", async () => {
    expect((await ingest(folder, "http://127.0.0.1:9")).stderr).toContain("Start the service with npm start");
    const nowhere = await ingest("/nowhere/at/all");
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toContain("/nowhere/at/all");
  });
});
