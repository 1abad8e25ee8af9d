import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { wholeAnswer } from "../../models/stream-answer.ts";
import { NOOP_OBSERVER } from "../../observe/observer.ts";
import type { ModelScript } from "../servers/model-server.ts";
import { modelAt } from "../support/services/model-at.ts";
import { PATIENT, useModelServer } from "../support/services/use-model-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const server = useModelServer();
const PROMPT = [new HumanMessage("Hello!")];
const reason = new AppError("turn_cancelled", "stopped");
const closed = () => waitUntil("the connection to close", () => server.seen.length > 0 && server.seen.every(({ aborted }) => aborted));
const looping = Array.from({ length: 600 }, () => "amigos de nós ");

describe("wholeAnswer over a socket", () => {
  const toolCalls = [{ name: "route", arguments: { to: "Porto" } }];
  function ask(signal = new AbortController().signal) {
    const model = modelAt(server.url);
    return wholeAnswer({ model, prompt: PROMPT, signal, timeouts: PATIENT, watched: { observer: NOOP_OBSERVER, purpose: "router" } });
  }

  test("gives the words and the calls of tools together", async () => {
    server.answer({ tokens: ["Let me ", "see."], toolCalls });
    expect(await ask()).toMatchObject({ text: "Let me see.", toolCalls: [{ name: "route", arguments: JSON.stringify({ to: "Porto" }) }] });
    expect(server.seen).toHaveLength(1);
  });

  test.each<[string, ModelScript, string]>([
    ["refuses", { status: 401 }, "model_unauthorized"],
    ["is down", { status: 503 }, "model_unavailable"],
    ["breaks off in a call", { toolCalls, ending: "cut" }, "model_interrupted"],
    ["ends without a finish reason in a call", { toolCalls, ending: "end" }, "model_incomplete"],
    ["sends a frame that is no JSON", { toolCalls, malformed: true }, "model_bad_response"],
  ])("throws an AppError when the model %s, and does not ask again", async (_name, script, code) => {
    server.answer(script);
    await expect(ask()).rejects.toMatchObject({ name: "AppError", code });
    expect(server.seen).toHaveLength(1);
  });

  test("stops at once when its signal aborts, with the reason, and closes the connection", async () => {
    server.answer({ toolCalls, ending: "hang" });
    const controller = new AbortController();
    const asked = ask(controller.signal).catch((error: unknown) => error);
    await waitUntil("the request", () => server.seen.length === 1);
    controller.abort(reason);
    expect(await asked).toBe(reason);
    await closed();
  });

  test("stops a model that loops, keeps none of its calls, and closes the connection", async () => {
    server.answer({ tokens: looping, toolCalls, ending: "hang" });
    const { text, toolCalls: kept, cut } = await ask();
    expect({ kept, cut }).toEqual({ kept: [], cut: "length" });
    expect(text).toMatch(/^(?:amigos de nós ){100}/);
    await closed();
  });
});
