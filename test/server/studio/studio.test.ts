import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createParser } from "eventsource-parser";
import { startStudio, type StudioProcess } from "../../servers/studio-process.ts";

describe("npm run studio", () => {
  let studio: StudioProcess;

  beforeAll(async () => {
    studio = await startStudio();
  }, 120_000);
  afterAll(() => studio.stop());

  test("serves the graph with the schemas of its state", async () => {
    const [assistant] = (await (await studio.call("POST", "/assistants/search", {})).json()) as {
      assistant_id: string;
      graph_id: string;
    }[];
    expect(assistant?.graph_id).toBe("conversation");
    const schemas = (await (await studio.call("GET", `/assistants/${assistant?.assistant_id}/schemas`)).json()) as Record<
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
    const body = { assistant_id: "conversation", input, stream_mode: ["updates", "messages", "custom"] };
    const response = await studio.call("POST", "/runs/stream", body);
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
