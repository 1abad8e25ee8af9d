import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi } from "../../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../../support/clients/knowledge-client.ts";
import { openServiceWithEpisodes, type ServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Other requests wait no longer than this for a document of megabytes; storing it in the embedded database takes most of it. */
const LONGEST_PAUSE_MS = 1_500;

function filled(megabytes: number, line: (number: number) => string): string {
  const lines: string[] = [];
  for (let length = 0; length < megabytes * 1e6; length += lines.at(-1)?.length ?? 0) lines.push(line(lines.length));
  return lines.join("\n");
}

describe("a document of megabytes", () => {
  let running: ServiceWithEpisodes;
  beforeAll(async () => {
    running = await openServiceWithEpisodes({});
    await makeKnowledgeClient(running.url).put("tables", { description: "Tables" });
  }, 120_000);
  afterAll(() => running.close());

  test.each([
    ["a table of 10 MB", "text/csv", filled(10, (row) => `${row},name ${row},Porto,tea that is grown near the river and sold on Mondays`)],
    ["a page of 4 MB", "text/html", filled(4, (part) => `<h2>Part ${part}</h2><p>Tea is grown near the river. It is sold on Mondays.</p>`)],
  ])(
    "lets the event loop go round while it is uploaded and read: %s",
    async (_what, type, body) => {
      const delay = monitorEventLoopDelay({ resolution: 10 });
      delay.enable();
      const at = `${running.url}/api/v1/knowledge/tables/documents`;
      const added = await callApi<{ id: string }>(`${at}?title=t`, { method: "POST", headers: { "content-type": type }, body });
      expect(added.status).toBe(202);
      await waitUntil(
        "it is read",
        async () => {
          const { json } = await callApi<{ documents: { id: string; status: string; chunk_count: number }[] }>(at);
          const document = json.documents.find(({ id }) => id === added.json.id);
          return document !== undefined && (document.status === "failed" || document.chunk_count > 0);
        },
        60_000,
      );
      delay.disable();
      expect(delay.max / 1e6).toBeLessThan(LONGEST_PAUSE_MS);
    },
    90_000,
  );
});
