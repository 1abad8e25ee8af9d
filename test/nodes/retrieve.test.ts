import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import type { Recall, RecalledEpisode, RecallRequest } from "../../memory/recall/recall-episodes.ts";
import { makeRetrieve, type RetrieveParts } from "../../nodes/retrieve.ts";
import type { TurnContext } from "../../turn/context.ts";
import type { ConversationState, ConversationUpdate } from "../../turn/state.ts";
import { sampleWindow } from "../support/samples/sample-window.ts";

/** What prompt and receipt need of an episode, but its time. */
const EXCHANGE = {
  id: "asked",
  conversationId: "earlier",
  userMessage: "I like green.",
  assistantMessage: "Noted.",
  messageIds: ["asked", "answered"],
  score: 1.5,
  similarity: 0.7,
};
const createdAt = new Date("2024-01-31T12:00:00Z");
const EPISODE: RecalledEpisode = { ...EXCHANGE, createdAt, externalIds: [], episodeType: "preference", importance: 0.8, neighbours: [] };
/** In the state of a thread it takes the place of what the turn before has found. */
const NOTHING = { episodicMemory: [], retrievalResults: [] };

/** Runs the node over a recall that notes what it is asked. */
async function retrieve(
  recall: Recall,
  { state = {}, context = {}, ...parts }: Partial<RetrieveParts> & { state?: Partial<ConversationState>; context?: TurnContext } = {},
): Promise<{ update: ConversationUpdate; asked: RecallRequest[] }> {
  const asked: RecallRequest[] = [];
  const noting: Recall = async (request) => {
    asked.push(request);
    return recall(request);
  };
  const ids = { tenantId: "tenant", userId: "ada", conversationId: "this one" };
  const whole = {
    ...ids,
    currentMessageId: "this message",
    message: "Which colour?",
    recentMessages: [],
    hasEpisodes: true,
    error: null,
    ...state,
  };
  const defaults = { findPassages: null, passages: 5, topK: 3, episodeTokens: 1_000, timeoutMs: 5_000, scope: "user" } as const;
  const node = makeRetrieve({ recall: noting, turns: { endedSince: async () => [] }, ...defaults, ...parts });
  return { update: await node(whole as unknown as ConversationState, { context }), asked };
}

const found: Recall = async () => ({ episodes: [EPISODE], order: ["asked"], degraded: false });
/** Gives nothing until its signal ends it. */
const silent: Recall = ({ signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));

describe("the node retrieve", () => {
  test("gives what was recalled, with its time as text and only what the prompt and the receipt need", async () => {
    const { update } = await retrieve(found);
    const episodicMemory = [{ ...EXCHANGE, createdAt: "2024-01-31T12:00:00.000Z" }];
    expect(update).toEqual({ retrievalResults: [], episodicMemory, retrievalMs: expect.any(Number), degraded: [] });
  });

  test("gives exchanges and what was said beside them in the order of what they are worth", async () => {
    const beside = { ...EPISODE, id: "after", messageIds: ["after"] };
    const episodes = [
      { ...EPISODE, neighbours: [beside] },
      { ...EPISODE, id: "weaker" },
    ];
    const { update } = await retrieve(async () => ({ episodes, order: ["asked", "after", "weaker"], degraded: false }));
    expect(update.episodicMemory?.map(({ id, similarity }) => [id, similarity])).toEqual([
      ["asked", 0.7],
      ["after", null],
      ["weaker", 0.7],
    ]);
  });

  test("asks for nothing when the user has no episode outside the window, or when the turn has failed", async () => {
    const error = { code: "invalid_request" as const, message: "Unknown kb_prefix.", retryable: false };
    for (const state of [{ hasEpisodes: false }, { error }])
      expect(await retrieve(found, { state })).toEqual({ update: { ...NOTHING, retrievalMs: 0 }, asked: [] });
  });

  test("asks for the user's message, adds the window to complete it, and leaves out every message of the window", async () => {
    const recentMessages = sampleWindow(4);
    const { asked } = await retrieve(found, { state: { recentMessages }, topK: 7, episodeTokens: 500 });
    const room = { limit: 7, tokens: 500 };
    expect(asked).toMatchObject([{ tenantId: "tenant", userId: "ada", question: "Which colour?", recent: recentMessages, ...room }]);
    expect(asked[0]?.except).toEqual(new Set(["this message", ...recentMessages.map(({ id }) => id)]));
  });

  test("asks for a model's version of a question that points back", async () => {
    const recentMessages = sampleWindow(4);
    const rewrite: RetrieveParts["rewrite"] = async (question, { length }) => `${question} (of ${length})`;
    const { asked } = await retrieve(found, { state: { recentMessages }, rewrite });
    expect(asked).toMatchObject([{ question: "Which colour? (of 4)", recent: recentMessages }]);
  });

  test("asks in all conversations of the user, or in this one only", async () => {
    expect((await retrieve(found, { scope: "user" })).asked[0]?.conversationId).toBeUndefined();
    expect((await retrieve(found, { scope: "conversation" })).asked[0]?.conversationId).toBe("this one");
  });

  test("passes on what was found, and says that it is not all", async () => {
    const { update } = await retrieve(async () => ({ episodes: [EPISODE], order: ["asked"], degraded: true }));
    expect(update).toMatchObject({ episodicMemory: [{ id: "asked" }], degraded: ["episodic"] });
  });

  test.each<[string, Recall]>([
    ["its time is over", silent],
    ["what was found cannot be read and the read never ends", () => new Promise(() => undefined)],
    ["recall throws an AppError", () => Promise.reject(new AppError("storage_unavailable", "The database cannot be reached."))],
    ["recall throws a TypeError", () => Promise.reject(new TypeError("cannot read properties of undefined"))],
    ["recall throws no error at all", () => Promise.reject("just text")],
  ])("goes on without memory, is degraded and reports one error when %s", async (_name, recall) => {
    const heard: unknown[] = [];
    const { update } = await retrieve(recall, { timeoutMs: 20, context: { onError: (error) => void heard.push(error) } });
    expect(update).toEqual({ ...NOTHING, retrievalMs: expect.any(Number), degraded: ["episodic"] });
    expect(heard).toEqual([expect.any(AppError)]);
  });

  test("goes on without memory when the turn is cancelled during its search", async () => {
    const cancelling = new AbortController();
    const ended = retrieve(silent, { context: { signal: cancelling.signal } });
    cancelling.abort(new AppError("turn_cancelled", "The turn was cancelled."));
    expect((await ended).update).toMatchObject({ degraded: ["episodic"] });
  });
});
