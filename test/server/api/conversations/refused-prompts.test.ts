import { tool } from "@langchain/core/tools";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { fromLangChainTool } from "../../../../agents/tool.ts";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { openTestService } from "../../../support/services/service.ts";
import { type ChatRequestBody, type ModelScript, startModelServer } from "../../../servers/model-server.ts";
import type { ContextCompressed, TurnEvent, TurnResult } from "../../../../turn/events.ts";
import { REFUSALS } from "../../../models/refusals.ts";

const CONTEXT = 3_000;
const sizeOf = ({ messages }: ChatRequestBody): number => Math.ceil(JSON.stringify(messages).length / 4);
const openai = (size: number) => ({
  message: `This model's maximum context length is ${CONTEXT} tokens. However, your messages resulted in ${size} tokens.`,
  type: "invalid_request_error",
  code: "context_length_exceeded",
});

const read = tool(
  async ({ page }) => Array.from({ length: 80 }, (_, line) => `line ${line} of page ${page}, which says little`).join("\n"),
  {
    name: "read",
    description: "Reads a page.",
    schema: z.object({ page: z.number() }),
  },
);

describe("a prompt that the model's server refuses as too long", () => {
  const database = useTestPostgres();
  let model: Awaited<ReturnType<typeof startModelServer>>;
  let service: Awaited<ReturnType<typeof openTestService>>;
  const open = () =>
    openTestService(
      {
        DATABASE_URL: database.url,
        OPENAI_BASE_URL: model.url,
        CHAT_MODEL: "small",
        SUMMARY_MODEL: "other",
        MEMORY_MODEL: "other",
        CONTEXT_TOKEN_BUDGET: "100000",
      },
      { extras: { tools: [fromLangChainTool(read)] } },
    );

  beforeAll(async () => {
    model = await startModelServer();
    service = await open();
  });
  afterAll(async () => {
    await service.close();
    await model.close();
  });
  beforeEach(async () => {
    model.seen.length = 0;
    await database.query({ text: "delete from model_measures" });
  });

  /** Refuses chat prompts of more than CONTEXT tokens, whose answers are `script`. */
  function refuse(
    script: (body: ChatRequestBody) => ModelScript = () => ({ tokens: ["yes"] }),
    errorOf: (size: number) => object = openai,
  ) {
    model.answer((body) => {
      const size = sizeOf(body);
      if (body.model === "small" && size > CONTEXT) return { status: 400, error: errorOf(size) };
      return { promptTokens: size, ...script(body) };
    });
  }
  const chats = () => model.seen.filter(({ body }) => body.model === "small");
  const say = async (session_id: string, message: string, url = service.url, fields = {}) => {
    const { events } = await postTurn(url, { user_id: "ada", session_id, message, ...fields });
    return { events: events.map(({ data }) => data), done: contentOf(events, "done") as TurnResult | undefined };
  };
  const compressions = (events: TurnEvent[]): ContextCompressed[] =>
    events.flatMap((event) => (event.status === "context_compressed" ? [event.content] : []));
  const words = (count: number): string => "many words here ".repeat(count);

  test("is shortened and sent again, and later prompts fit in this process, in another one and after a restart", async () => {
    refuse();
    let refusals = 0;
    for (let turn = 0; turn < 6; turn++) {
      const { events, done } = await say("grows", `${turn} ${words(200)}`);
      expect(done).toMatchObject({ answer: "yes", completed: true });
      refusals += compressions(events).filter(({ strategy }) => strategy !== "summarize").length;
      if (turn === 5) expect(done?.usage.context_limit).toBe(Math.floor(CONTEXT * 0.85 * 0.9));
    }
    expect(refusals).toBe(1);
    expect(chats()).toHaveLength(7);
    const other = await open();
    try {
      const { json } = await callApi<{ models: unknown[] }>(`${other.url}/api/v1/models`);
      expect(json.models[0]).toMatchObject({ name: "small", context_window: CONTEXT, sources: { context_window: "refusal" } });
      const { events, done } = await say("grows", words(200), other.url);
      expect([compressions(events).filter(({ strategy }) => strategy !== "summarize"), done?.completed]).toEqual([[], true]);
    } finally {
      await other.close();
    }
  });

  test("is reported in an event with its size before and after it was shortened", async () => {
    refuse(undefined, () => ({ message: "Your input exceeds the context window of this model.", code: "context_length_exceeded" }));
    const fresh = await open();
    try {
      const { events, done } = await say("told", words(1_500), fresh.url);
      const [content] = compressions(events);
      expect(content).toMatchObject({ strategy: "truncate", original_message_count: 2, final_message_count: 2 });
      expect(content?.tokens_before).toBeGreaterThan(5_000);
      expect(content?.tokens_after).toBeLessThanOrEqual(content?.budget ?? 0);
      expect(content?.utilization_pct).toBeGreaterThan(50);
      expect(content?.utilization_pct).toBeLessThanOrEqual(100);
      expect(events.some((event) => event.status === "notice" && event.content.code === "context_trimmed")).toBe(true);
      expect(done?.completed).toBe(true);
    } finally {
      await fresh.close();
    }
  });

  test("fails the turn when the shorter prompt is refused, too", async () => {
    model.answer(() => ({ status: 400, error: openai(9_000) }));
    const { json, status } = await postJson<{ error: { code: string } }>(`${service.url}/api/v1/chat`, {
      user_id: "ada",
      session_id: "never",
      message: "hello",
    });
    expect([status, json.error.code]).toEqual([413, "context_too_long"]);
    expect(chats()).toHaveLength(2);
  });

  test.each(REFUSALS.filter(([, , limit]) => limit !== null && limit < 10_000))(
    "is recognised by the error text of %s",
    async (_, { error }, limit) => {
      const fresh = await open();
      try {
        let asked = 0;
        // Jobs of the tests before ask the model "other".
        model.answer((body) => (body.model === "small" && asked++ === 0 ? { status: 400, error } : { tokens: ["yes"] }));
        const { done } = await say(crypto.randomUUID(), words(20), fresh.url);
        expect(done?.answer).toBe("yes");
        const { json } = await callApi<{ models: unknown[] }>(`${fresh.url}/api/v1/models`);
        expect(json.models[0]).toMatchObject({ context_window: limit });
      } finally {
        await fresh.close();
      }
    },
  );

  test("loses outputs of tools when the refusal comes in the middle of an agent's turn", async () => {
    await putJson(`${service.url}/api/v1/agents/finder`, {
      description: "Finds",
      tools: ["read"],
      permissions: [{ tool: "read", action: "allow" }],
    });
    const fresh = await open();
    try {
      let asked = 0;
      refuse((body) => {
        if (!body.tools) return { tokens: ["done"] };
        return asked++ < 4 ? { toolCalls: [{ name: "read", arguments: { page: asked } }] } : { tokens: ["read"] };
      });
      const { events, done } = await say("finds", `${words(100)} count`, fresh.url, { agent: "finder" });
      expect(done).toMatchObject({ answer: "read", completed: true, tool_calls: 4 });
      expect(compressions(events)).toMatchObject([{ strategy: "prune" }]);
    } finally {
      await fresh.close();
    }
  });
});
