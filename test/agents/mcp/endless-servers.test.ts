import { describe, expect, test } from "@jest/globals";
import { HttpSpec } from "../../../agents/mcp/mcp-server.ts";
import { type Endless, startEndlessMcpServer } from "../../servers/endless-mcp-server.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { list, open, opened, run } from "./open-mcp-servers.ts";

const LONGER_THAN_THE_TEST_MS = 3_600_000;

async function openEndless(how: Endless) {
  const server = await startEndlessMcpServer(how);
  opened.push({ close: () => server.close() });
  const spec = HttpSpec.parse({ url: server.url });
  const asked = (method: string) => server.seen.filter((one) => one === method).length;
  return { spec, asked, listings: () => asked("tools/list") };
}

describe("a server whose list of tools does not end", () => {
  test("is asked for no more pages once one brings nothing new, and its tools can be called", async () => {
    const { spec, listings } = await openEndless("same tool");
    const { tools, names, missing } = await list(open({ endless: spec }));
    expect([names, missing, listings()]).toEqual([["mcp__endless__tool"], [], 2]);
    expect((await run(tools, "mcp__endless__tool")).output).toBe("called");
  });

  test("is asked for 50 pages at most", async () => {
    const { spec, listings } = await openEndless("other tools");
    const { names } = await list(open({ endless: spec }));
    expect([names.length, listings()]).toEqual([50, 50]);
  });

  test("has one deadline for all pages", async () => {
    const { spec, listings } = await openEndless("slow pages");
    const { missing } = await list(open({ endless: spec }, { answerMs: 1_000 }));
    expect(missing).toEqual(['The MCP server "endless" gave no answer within 1000 ms. Its tools are missing.']);
    expect(listings()).toBeLessThan(50);
  });

  test.each<Endless>(["initialize", "notifications/initialized", "tools/list"])(
    "and that does not answer %s is given up at its deadline, and can be closed before",
    async (how) => {
      const { spec, asked } = await openEndless(how);
      const { missing } = await list(open({ endless: spec }, { answerMs: 500 }));
      expect(missing).toEqual(['The MCP server "endless" gave no answer within 500 ms. Its tools are missing.']);
      const patient = open({ endless: spec }, { answerMs: LONGER_THAN_THE_TEST_MS });
      const before = asked(how);
      const listing = list(patient);
      await waitUntil("it is asked", () => asked(how) > before);
      await patient.close();
      expect((await listing).missing).toHaveLength(1);
    },
  );

  test("is waited for by the other turns when one of them has ended", async () => {
    const { spec } = await openEndless("slow pages");
    const servers = open({ endless: spec }, { answerMs: LONGER_THAN_THE_TEST_MS });
    const others = list(servers);
    const { missing } = await list(servers, ["mcp__*"], AbortSignal.timeout(200));
    expect(missing).toEqual(['The MCP server "endless" has not told its tools in the time of the agent. Its tools are missing.']);
    expect((await others).names).toHaveLength(50);
  });
});
