import { monitorEventLoopDelay } from "node:perf_hooks";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { type KnowledgeClient, makeKnowledgeClient } from "../../support/clients/knowledge-client.ts";
import { openServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { useOpened } from "../../support/use-opened.ts";

/** Other requests wait no longer than this for a document of megabytes; storing it in the embedded database takes most of it. */
const LONGEST_PAUSE_MS = 1_500;

function filled(megabytes: number, line: (number: number) => string): string {
  const lines: string[] = [];
  for (let length = 0; length < megabytes * 1e6; length += lines.at(-1)?.length ?? 0) lines.push(line(lines.length));
  return lines.join("\n");
}

describe("a document of megabytes", () => {
  const running = useOpened(() => openServiceWithEpisodes({}));
  let knowledge: KnowledgeClient;
  beforeAll(async () => {
    knowledge = makeKnowledgeClient(running.url);
    await knowledge.put("tables", { description: "Tables" });
  });

  test.each([
    ["a table of 10 MB", "text/csv", filled(10, (row) => `${row},name ${row},Porto,tea that is grown near the river and sold on Mondays`)],
    ["a page of 4 MB", "text/html", filled(4, (part) => `<h2>Part ${part}</h2><p>Tea is grown near the river. It is sold on Mondays.</p>`)],
  ])(
    "lets the event loop go round while it is uploaded and read: %s",
    async (_what, type, body) => {
      const delay = monitorEventLoopDelay({ resolution: 10 });
      delay.enable();
      const { json } = await knowledge.upload("tables", { title: "t" }, type, body);
      const find = async () =>
        (await knowledge.list("tables")).find(({ id, status, chunk_count }) => id === json.id && (status === "failed" || chunk_count > 0));
      await waitUntil("it is read", find, 60_000);
      delay.disable();
      expect(delay.max / 1e6).toBeLessThan(LONGEST_PAUSE_MS);
    },
    90_000,
  );
});
