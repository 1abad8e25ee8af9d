import { afterEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../turn/events.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../../servers/otlp-receiver.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { openServiceWithSummaries } from "../../support/services/service-with-summaries.ts";

const SERVER = 2;
const CLIENT = 3;
const SECRET = "Zwiebelkuchen";

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

function keep<Part extends { close(): Promise<void> }>(part: Part): Part {
  opened.push(part);
  return part;
}

async function openTraced(
  environment: Record<string, string> = {},
  options: { hangs?: boolean } = {},
): Promise<{ receiver: OtlpReceiver; running: ServiceWithModel }> {
  const receiver = keep(await startOtlpReceiver(options));
  return { receiver, running: await openServiceWithModel({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment }) };
}

const turnOf = (message: string, rest: object = {}): object => ({ user_id: "ada", session_id: "s", message, ...rest });

/** The names of a span's children, in any order. */
function childrenOf(spans: ReceivedSpan[], { spanId }: ReceivedSpan): string[] {
  return spans.flatMap((span) => (span.parentSpanId === spanId ? [span.name] : [])).sort();
}

function only(spans: ReceivedSpan[], name: string): ReceivedSpan {
  const named = spans.filter((span) => span.name === name);
  expect(named.map((span) => span.name)).toEqual([name]);
  return named[0] as ReceivedSpan;
}

describe("traces", () => {
  test("show a turn as a tree of the request, its nodes and the model's call, with ids and counts but no words of the user", async () => {
    const { receiver, running } = await openTraced({
      ENABLE_CORE_MEMORY: "true",
      OTEL_SERVICE_NAME: "kitchen",
      OTEL_EXPORTER_OTLP_HEADERS: "x-team=a%20b",
    });
    running.model.answer({ tokens: [SECRET, " ", SECRET], betweenMs: 20 });
    const { headers, events } = await postTurn(running.url, turnOf(`I like ${SECRET}`), { headers: { "x-request-id": "request-7" } });
    const done = events.at(-1)?.data.content as TurnResult;
    await running.close();

    const root = only(receiver.spans(), "POST /api/v1/chat/stream");
    const spans = receiver.spans().filter(({ traceId }) => traceId === root.traceId); // the memory agent's job is a trace of its own
    expect(root).toMatchObject({ kind: SERVER, parentSpanId: undefined, failed: false });
    expect(root.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/api/v1/chat/stream",
      "http.response.status_code": 200,
      "conversation_graph.request_id": "request-7",
      "conversation_graph.turn_id": headers.get("x-turn-id"),
      "conversation_graph.turn.outcome": "done",
      "gen_ai.conversation.id": done.conversation_id,
    });
    expect(childrenOf(spans, root)).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
    const generate = only(spans, "generate");
    expect(childrenOf(spans, generate)).toEqual(["chat test-chat"]);
    const call = only(spans, "chat test-chat");
    expect(call).toMatchObject({ kind: CLIENT, failed: false });
    expect(call.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "test-chat",
      "gen_ai.usage.input_tokens": done.usage.prompt_tokens,
      "gen_ai.usage.output_tokens": done.usage.completion_tokens,
      "conversation_graph.usage.estimated": false,
    });
    expect(call.ms).toBeGreaterThanOrEqual(35);
    expect(generate.ms).toBeGreaterThanOrEqual(call.ms);
    expect(root.ms).toBeGreaterThanOrEqual(generate.ms);
    expect(spans).toHaveLength(8);
    expect(receiver.requests[0]).toMatchObject({ path: "/v1/traces", contentType: "application/json", headers: { "x-team": "a b" } });
    expect(receiver.payloads.join("")).toContain('"kitchen"');
    expect(receiver.payloads.join("")).not.toMatch(new RegExp(`${SECRET}|\\bada\\b`));
  });

  test("of turns at the same time are separate trees, and each continues the trace that its client names", async () => {
    const { receiver, running } = await openTraced();
    running.model.answer({ tokens: ["a", "b"], betweenMs: 20 });
    const traceIds = Array.from({ length: 5 }, () => uuidv7().replaceAll("-", ""));
    await Promise.all(
      traceIds.map((traceId, index) =>
        postJson(`${running.url}/api/v1/chat`, turnOf("hello", { user_id: `user-${index}` }), {
          traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
        }),
      ),
    );
    await running.close();
    for (const traceId of traceIds) {
      const spans = receiver.spans().filter((span) => span.traceId === traceId);
      const root = only(spans, "POST /api/v1/chat");
      expect(root.parentSpanId).toBe("00f067aa0ba902b7");
      expect(childrenOf(spans, root)).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
      expect(childrenOf(spans, only(spans, "generate"))).toEqual(["chat test-chat"]);
    }
  });

  test("are not recorded when the client does not record its trace, and begin anew when its headers are wrong", async () => {
    const { receiver, running } = await openTraced();
    const unrecorded = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00" };
    await postJson(`${running.url}/api/v1/chat`, turnOf("one"), unrecorded);
    await postJson(`${running.url}/api/v1/chat`, turnOf("two"), { traceparent: "00-nonsense", tracestate: "=" });
    await running.close();
    expect(receiver.spans().filter(({ name }) => name === "POST /api/v1/chat")).toEqual([
      expect.objectContaining({ parentSpanId: undefined }),
    ]);
  });

  test("mark a failed call, its node and its request with the code, but with no words of the model", async () => {
    const { receiver, running } = await openTraced();
    running.model.answer({ status: 401 });
    await postTurn(running.url, turnOf("hello"));
    await running.close();
    const spans = receiver.spans();
    for (const name of ["chat test-chat", "generate", "POST /api/v1/chat/stream"]) {
      const { failed, attributes } = only(spans, name);
      expect({ name, failed, code: attributes["error.type"] }).toEqual({ name, failed: true, code: "model_unauthorized" });
    }
    expect(only(spans, "persist").failed).toBe(false);
  });

  test("of a job are separate, with the calls of its model below it", async () => {
    const receiver = keep(await startOtlpReceiver());
    const running = await openServiceWithSummaries({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    await running.say("ada", "one");
    const { conversation_id: id } = await running.say("ada", "two");
    await running.settle(id);
    await running.close();
    const spans = receiver.spans();
    const job = only(spans, "job summarise");
    expect(job.parentSpanId).toBeUndefined();
    expect(job.attributes).toMatchObject({ "conversation_graph.job.kind": "summarise", "conversation_graph.job.outcome": "done" });
    expect(childrenOf(spans, job)).toEqual(["chat test-summary"]);
    expect(only(spans, "chat test-summary").attributes).toMatchObject({ "conversation_graph.model.purpose": "summary" });
  });
});

test.each(["is not there", "hangs"])("a receiver of traces that %s makes no turn fail and delays no stop", async (how) => {
  const environment = how === "hangs" ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  const { receiver, running } = await openTraced(environment, { hangs: true });
  for (let turn = 0; turn < 5; turn++) expect((await postJson(`${running.url}/api/v1/chat`, turnOf(`message ${turn}`))).status).toBe(200);
  await running.close();
  expect(receiver.payloads.length > 0).toBe(how === "hangs");
});
