import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, type ErrorBody, postJson, putJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const LONGEST = 20_000;

describe("instructions over HTTP", () => {
  const running = useServiceWithModel({ INSTRUCTIONS: "You are Calypso." });
  let sessionId: string;
  beforeEach(() => {
    sessionId = uuidv7();
    running.model.answer({ tokens: ["Aye."] });
  });

  const bodyOf = (fields: object = {}) => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const chat = (fields: object, headers: Record<string, string> = {}) =>
    postJson<TurnResult & ErrorBody>(`${running.url}/api/v1/chat`, bodyOf(fields), headers);
  const system = (): string => running.model.seen.at(-1)?.body.messages[0]?.content ?? "";
  const base = (prefix: string) => `${running.url}/api/v1/knowledge/${prefix}`;

  test("of the service, of the knowledge base and of the caller stand in the prompt, whole or streamed", async () => {
    const written = { description: "Trips", instructions: "Answer like a conductor." };
    expect((await putJson(base("trips"), written)).json).toMatchObject({ instructions: "Answer like a conductor." });
    const fields = { instructions: "Rhyme.", kb_prefix: "trips" };
    const whole = await chat(fields);
    expect(whole.json.receipt.instructions?.map(({ from }) => from)).toEqual(["service", "knowledge", "caller"]);
    expect(system()).toMatch(/You are Calypso\.[^]*conductor\.[^]*Rhyme\.$/);
    const streamed = await postTurn(running.url, bodyOf(fields));
    expect(contentOf(streamed.events, "done").receipt.instructions).toEqual(whole.json.receipt.instructions);
  });

  test("of a knowledge base are shown, and are removed when the base is written without them", async () => {
    const shown = async () => (await callApi<{ instructions?: string }>(base("shown"))).json;
    await putJson(base("shown"), { description: "Boats", instructions: "Be brief." });
    expect(await shown()).toMatchObject({ description: "Boats", instructions: "Be brief." });
    const { json } = await callApi<{ knowledge: object[] }>(base("").slice(0, -1));
    expect(json.knowledge).toContainEqual(expect.objectContaining({ kb_prefix: "shown", instructions: "Be brief." }));
    await putJson(base("shown"), { description: "Boats" });
    expect(await shown()).not.toHaveProperty("instructions");
  });

  test("are texts of at most 20,000 characters", async () => {
    const problems: [unknown, RegExp][] = [
      ["x".repeat(LONGEST + 1), /more than 20000 characters/],
      [7, /must be a string/],
      ["half \ud83d", /surrogate/],
    ];
    for (const [instructions, says] of problems) {
      expectRefusal(await chat({ instructions }), { status: 400, code: "invalid_request", field: "instructions", says });
      expectRefusal(await putJson(base("long"), { instructions }), { status: 400, code: "invalid_request", field: "instructions", says });
    }
    expect((await chat({ instructions: "\u{1F600}".repeat(LONGEST) })).status).toBe(200);
    expect((await putJson(base("long"), { instructions: "\u{1F600}".repeat(LONGEST) })).status).toBe(201);
    expect((await chat({ instructions: " \n" })).json.receipt.instructions?.map(({ from }) => from)).toEqual(["service"]);
  });

  test("belong to the body of an Idempotency-Key, so that other instructions are another request", async () => {
    const key = { "idempotency-key": uuidv7() };
    const first = await chat({ instructions: "Rhyme." }, key);
    expect((await chat({ instructions: "Rhyme." }, key)).json).toEqual(first.json);
    for (const fields of [{ instructions: "Do not rhyme." }, {}])
      expectRefusal(await chat(fields, key), { status: 422, code: "idempotency_mismatch" });
    const plain = { "idempotency-key": uuidv7() };
    const without = await chat({}, plain);
    expect((await chat({ instructions: "" }, plain)).json).toEqual(without.json);
  });

  test("stand in the turn's record only as hash and length", async () => {
    const { json, headers } = await chat({ instructions: "Speak of Zephyrine." });
    const turn = await callApi(`${running.url}/api/v1/turns/${headers.get("x-turn-id")}`);
    expect(turn.json).toMatchObject({ receipt: { instructions: json.receipt.instructions } });
    expect(turn.text).not.toContain("Zephyrine");
    expect(json.receipt.instructions).toMatchObject([{ from: "service" }, { from: "caller", characters: 19, cut: false }]);
  });
});
