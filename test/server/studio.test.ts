import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createParser } from "eventsource-parser";
import { freePort } from "../support/postgres-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

describe("npm run studio", () => {
  let url: string;
  let studio: ChildProcess;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    // A group of its own: the command starts helpers that must end with it.
    studio = spawn("npm", ["run", "studio", "--", "--port", String(port)], { cwd: root, detached: true, stdio: "ignore" });
    await waitUntil("Studio answers /ok", async () => (await fetch(`${url}/ok`).catch(() => undefined))?.ok === true, 90_000);
  }, 120_000);
  afterAll(async () => {
    process.kill(-(studio.pid ?? 0), "SIGKILL");
    if (studio.exitCode === null && studio.signalCode === null) await once(studio, "exit");
  });

  const post = (path: string, body: unknown): Promise<Response> => {
    return fetch(url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  };

  test("serves the graph with the schemas of its state", async () => {
    const [assistant] = (await (await post("/assistants/search", {})).json()) as { assistant_id: string; graph_id: string }[];
    expect(assistant?.graph_id).toBe("conversation");
    const schemas = (await (await fetch(`${url}/assistants/${assistant?.assistant_id}/schemas`)).json()) as Record<
      string,
      { properties: Record<string, unknown> }
    >;
    expect(schemas["input_schema"]?.properties).toMatchObject({
      userId: { type: "string" },
      sessionId: { type: "string" },
      message: { type: "string" },
    });
    expect(Object.keys(schemas["state_schema"]?.properties ?? {})).toEqual(
      expect.arrayContaining(["routeDecision", "recentMessages", "messages", "timings"]),
    );
  });

  test("streams a run offline: each node's update, each token, the offline answer", async () => {
    const input = { userId: "ada", sessionId: "studio", message: "Hello", debug: true };
    const response = await post("/runs/stream", { assistant_id: "conversation", input, stream_mode: ["updates", "messages", "custom"] });
    const events: { event: string | undefined; data: unknown }[] = [];
    createParser({ onEvent: ({ event, data }) => events.push({ event, data: JSON.parse(data) as unknown }) }).feed(await response.text());
    const updates = events.filter(({ event }) => event === "updates").flatMap(({ data }) => Object.keys(data as object));
    expect(updates.toSorted()).toEqual(["core_memory", "generate_rag", "history", "persist", "retrieve", "route"]);
    const custom = events.filter(({ event }) => event === "custom").map(({ data }) => data as { status: string; content: unknown });
    expect(custom.map(({ status }) => status)).toEqual(expect.arrayContaining(["route_decision", "accepted", "token", "execution_log"]));
    expect(
      custom
        .filter(({ status }) => status === "token")
        .map(({ content }) => content)
        .join(""),
    ).toContain("This is the offline model");
    expect(events.filter(({ event }) => event?.startsWith("messages")).length).toBeGreaterThan(5);
  });
});
