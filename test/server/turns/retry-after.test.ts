import { beforeEach, describe, expect, test } from "@jest/globals";
import { responseId } from "../../../server/openai/responses/response-ids.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { MODEL, says } from "../openai/open-client.ts";

/** More than a turn waits for before it asks again. */
const SECONDS = 47;

const turn = { user_id: "ada", message: "Hello!" };
const openai = { model: MODEL, user: "ada" };
const completion = { ...openai, messages: [says("Hello!")] };
const response = { ...openai, input: "Hello!" };

describe("a turn that fails since its model's server is overloaded", () => {
  const postgres = useTestPostgres();
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: postgres.url }));
  const overload = (headers: Record<string, string> = {}): void => running.model.answer({ status: 503, headers });
  beforeEach(() => overload({ "retry-after": String(SECONDS) }));

  const inNewSession = (body: object): object => ({ session_id: crypto.randomUUID(), ...body });

  const routes: [what: string, route: string, body: object][] = [
    ["a turn", "/api/v1/chat", inNewSession(turn)],
    ["a completion", "/v1/chat/completions", completion],
    ["a streamed completion", "/v1/chat/completions", { ...completion, stream: true }],
    ["a response", "/v1/responses", response],
    ["a streamed response", "/v1/responses", { ...response, stream: true }],
  ];

  test.each(routes)("is an answer with the server's own Retry-After, of %s", async (_what, route, body) => {
    const { status, headers } = await postJson(running.url + route, body);
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter: String(SECONDS) });
  });

  test.each(routes)("is an answer with a Retry-After of 1 when the server names none, of %s", async (_what, route, body) => {
    overload();
    const { status, headers } = await postJson(running.url + route, body);
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter: "1" });
  });

  test("says the seconds in its stream, and of what is stored", async () => {
    const { events, headers } = await postTurn(running.url, inNewSession(turn));
    const error = contentOf(events, "error");
    expect(error).toMatchObject({ code: "model_unavailable", retryable: true, retry_after_seconds: SECONDS });
    const turnId = headers.get("x-turn-id") ?? "";
    expect((await getTurn(running.url, turnId)).json.error).toEqual(error);
    expect(contentOf((await streamTurn(running.url, turnId)).events, "error")).toEqual(error);
  });

  test.each([
    ["with seconds", SECONDS, String(SECONDS)],
    ["without any, as earlier versions store it", undefined, "1"],
  ])("is told again from a stored outcome %s", async (_what, seconds, retryAfter) => {
    overload();
    const failed = await postTurn(running.url, inNewSession(turn));
    const turnId = failed.headers.get("x-turn-id") ?? "";
    const error = { code: "model_unavailable", message: "It is overloaded.", retryable: true, retry_after_seconds: seconds };
    const text = "update turns set outcome = jsonb_set(outcome, '{error}', $2) where id = $1";
    await postgres.query({ text, values: [turnId, JSON.stringify(error)] });
    const told = contentOf((await streamTurn(running.url, turnId)).events, "error");
    expect(told).toEqual(JSON.parse(JSON.stringify(error)));
    const address = `${running.url}/v1/responses/${responseId({ turnId, leg: 1 })}?stream=true`;
    const { status, headers } = await fetch(address, { headers: { "x-user-id": "ada" } });
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter });
  });
});
