import { describe, expect, test } from "@jest/globals";
import path from "node:path";
import { HttpSpec, StdioSpec } from "../../../agents/mcp/mcp-server.ts";
import { makeMcpServers } from "../../../agents/mcp/mcp-servers.ts";
import { makePublicFetch } from "../../../agents/web/public-fetch.ts";
import { freePort } from "../../servers/free-port.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { list, odd, open, opened, openOdd, run, SECRET } from "./open-mcp-servers.ts";

const deadPort = await freePort();
const LONGER_THAN_THE_TEST_MS = 3_600_000;

describe("a server that is an odd process", () => {
  test("describes its tools with at most 1,024 characters and callable names, without its secret", async () => {
    const { tools, names } = await list(open({ odd }));
    expect(tools.find(({ name }) => name === "mcp__odd__refuse")?.tool.description).toHaveLength(1_024);
    expect(names.every((name) => /^[\w-]{1,64}$/.test(name))).toBe(true);
    const renamed = names.find((name) => name.startsWith("mcp__odd__odd_name")) ?? "none";
    expect((await run(tools, renamed)).output).toBe("odd");
    expect(JSON.stringify(tools.map(({ tool }) => [tool.description, tool.schema]))).not.toContain(SECRET);
    for (const name of ["refuse", "reveal"]) {
      const { output } = await run(tools, `mcp__odd__${name}`);
      expect(output).toContain("[secret]");
      expect(output).not.toContain(SECRET);
    }
  });

  test("starts in the folder that its settings name", async () => {
    const there = { ...odd, args: ["odd-mcp-server.ts"], cwd: path.resolve("test/servers") };
    expect((await list(open({ odd: there }))).names).toContain("mcp__odd__echo");
  });

  test("gets nothing of the service's environment", async () => {
    process.env["OPENAI_API_KEY_OF_THE_SERVICE"] = "sk-of-the-service";
    const { tools } = await list(open({ odd }));
    expect((await run(tools, "mcp__odd__reveal")).output).not.toContain("sk-of-the-service");
    delete process.env["OPENAI_API_KEY_OF_THE_SERVICE"];
  });

  test.each(["die", "flood"])(
    "fails all its calls when it ends in the middle of the call %s, and the next call starts it again",
    async (name) => {
      const servers = open({ odd });
      const { tools } = await list(servers);
      const [ended, beside] = await Promise.all([run(tools, `mcp__odd__${name}`), run(tools, "mcp__odd__hang")]);
      for (const { ok, output } of [ended, beside])
        expect({ ok, output }).toEqual({ ok: false, output: expect.stringContaining("not known whether") as unknown });
      expect((await run((await list(servers)).tools, "mcp__odd__echo", { text: "again" })).output).toBe("again");
    },
  );

  test("has its call ended at the deadline when it hangs, while others go on", async () => {
    const { tools } = await list(open({ odd }));
    const hanging = run(tools, "mcp__odd__hang", {}, { timeoutMs: 1_500 });
    expect((await run(tools, "mcp__odd__echo", { text: "meanwhile" })).output).toBe("meanwhile");
    expect(await hanging).toMatchObject({ ok: false, output: expect.stringContaining("tool_timeout") as unknown });
  });

  test("is asked for its tools again when it changes them", async () => {
    const servers = open({ odd });
    const before = await list(servers);
    expect(before.names).not.toContain("mcp__odd__grown");
    await run(before.tools, "mcp__odd__grow");
    await waitUntil("the new tool", async () => (await list(servers)).names.includes("mcp__odd__grown"));
  });

  test("is believed that a tool only reads only with TRUST_MCP_HINTS", async () => {
    const hints = async (trust: boolean) => {
      const { tools } = await list(open({ odd }, {}, trust));
      return tools.filter(({ isHarmless, onlyReads }) => isHarmless && onlyReads).map(({ name }) => name);
    };
    expect(await hints(false)).toEqual([]);
    expect(await hints(true)).toEqual(["mcp__odd__echo"]);
  });
});

describe("a server over HTTP", () => {
  const specOf = (url: string, headers = {}) => HttpSpec.parse({ url, headers });

  test("shares one connection among ten users, and each reads its own answer", async () => {
    const server = await openOdd();
    const servers = open({ odd: specOf(server.url) });
    const { tools } = await list(servers);
    const users = Array.from({ length: 10 }, (_, number) => `user-${number}`);
    const answers = await Promise.all(
      users.flatMap((userId) =>
        [1, 2, 3].map(async (round) => [userId, (await run(tools, "mcp__odd__later", { text: `${userId} ${round}` }, { userId })).output]),
      ),
    );
    expect(answers.map(([userId, output]) => output?.split(" ")[0] === userId)).toEqual(Array(30).fill(true));
    expect(server.connections()).toBe(1);
  });

  test("is connected at the first need, and closed after a while without calls", async () => {
    const server = await openOdd();
    const servers = open({ odd: specOf(server.url) }, { idleMs: 300 });
    expect((await list(servers, ["calculate", "mcp__other__*"])).tools).toEqual([]);
    expect(server.connections()).toBe(0);
    expect(await servers.states("acme")).toEqual([{ name: "odd", tier: "system", state: "idle", tools: null, problem: null }]);
    const { tools } = await list(servers, ["mcp__odd__echo"]);
    expect(await servers.states("acme")).toMatchObject([{ state: "connected", tools: tools.length }]);
    await waitUntil("it is closed", async () => (await servers.states("acme"))[0]?.state === "idle");
    expect((await run(tools, "mcp__odd__echo", { text: "anew" })).output).toBe("anew");
    expect(server.connections()).toBe(2);
  });

  test.each(["hang", "flood"])(
    "that breaks off in the middle of the call %s fails that call at once, and the next one works",
    async (name) => {
      const server = await openOdd();
      const { tools } = await list(open({ odd: specOf(server.url) }));
      const calling = run(tools, `mcp__odd__${name}`, {}, { timeoutMs: LONGER_THAN_THE_TEST_MS });
      await waitUntil("the call has come", () => server.requests.filter(({ method }) => method === "tools/call").length > 0);
      if (name === "hang") server.breakConnections();
      const { ok, output } = await calling;
      expect({ ok, output }).toEqual({ ok: false, output: expect.stringContaining("not known whether") as unknown });
      expect((await run(tools, "mcp__odd__echo", { text: "again" })).output).toBe("again");
    },
  );

  test("that was restarted and has lost the session is asked in a new one", async () => {
    const server = await openOdd();
    const { tools } = await list(open({ odd: specOf(server.url) }));
    server.forgetSessions();
    expect((await run(tools, "mcp__odd__echo", { text: "again" })).output).toBe("again");
    expect(server.connections()).toBe(2);
  });

  test("that is down loses only its tools, is left alone for a while, and is found when it is back", async () => {
    const [up, down] = [await openOdd({ token: SECRET }), await openOdd({ token: "another" })];
    const headers = { authorization: `Bearer ${SECRET}` };
    const servers = open({ up: specOf(up.url, headers), down: specOf(down.url, headers) }, { retryMs: 60_000 });
    const first = await list(servers);
    expect(first.missing).toEqual(['The MCP server "down" answered with status 401. Its tools are missing.']);
    expect(new Set(first.names.map((name) => name.split("__")[1]))).toEqual(new Set(["up"]));
    const asked = down.requests.length;
    await list(servers);
    expect(down.requests).toHaveLength(asked);
    expect(await servers.states("acme")).toMatchObject([{ state: "connected" }, { state: "down", problem: "answered with status 401" }]);

    const impatient = open({ late: specOf(down.url, headers) }, { retryMs: 1 });
    await list(impatient);
    down.accept(SECRET);
    await waitUntil("it is found", async () => (await list(impatient)).missing.length === 0);
  });

  test.each([
    ["a program that is not there", StdioSpec.parse({ command: "/no/such/program" }), /ENOENT/],
    [
      "a program that speaks something else",
      StdioSpec.parse({ command: process.execPath, args: ["-e", "console.log('hello')"] }),
      /MCP server "odd" /,
    ],
    ["an address where nothing listens", HttpSpec.parse({ url: `http://127.0.0.1:${deadPort}/mcp` }), /ECONNREFUSED/],
  ])("that cannot be used, or such a program, is named, with why: %s", async (_what, spec, says) => {
    const { missing, tools } = await list(open({ odd: spec }, { answerMs: 5_000 }));
    expect(tools).toEqual([]);
    expect(missing).toEqual([expect.stringMatching(says) as unknown]);
  });

  test("of a tenant, named so that it runs into its tools' names, has no tools, whatever the patterns", async () => {
    const server = await openOdd();
    const servers = makeMcpServers({
      system: [],
      ofTenant: async () => ["bank_", "_bank", "bank__x"].map((name) => ({ name, spec: HttpSpec.parse({ url: server.url }), version: 1 })),
      trustHints: false,
      signIn: null,
      publicFetch: async () => fetch,
    });
    opened.push(servers);
    expect((await list(servers, ["mcp__bank__*"])).names).toEqual([]);
    const { names, missing } = await list(servers, ["*"]);
    expect([names, missing.length, server.requests]).toEqual([[], 3, []]);
    expect(missing[0]).toContain("has a name that cannot be used");
  });

  test("of a tenant is reached at public addresses only", async () => {
    const server = await openOdd();
    const servers = makeMcpServers({
      system: [],
      ofTenant: async () => [{ name: "inside", spec: HttpSpec.parse({ url: server.url.replace("127.0.0.1", "localhost") }), version: 1 }],
      trustHints: false,
      signIn: null,
      publicFetch: async () => makePublicFetch(),
    });
    opened.push(servers);
    expect((await list(servers)).missing).toEqual([expect.stringMatching(/"localhost" does not lead to a public address/) as unknown]);
    expect(server.requests).toEqual([]);
  });
});
