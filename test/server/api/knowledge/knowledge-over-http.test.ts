import { beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, type ErrorBody, postJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { makeKnowledgeClient, type KnowledgeClient } from "../../../support/clients/knowledge-client.ts";
import { useServiceWithEpisodes } from "../../../support/services/service-with-episodes.ts";
import { openTestService } from "../../../support/services/service.ts";

const HANDBOOK =
  "# Travel handbook\n\n## Flights\nEconomy class is used for flights under six hours.\n\n## Hotels\nThe limit for a hotel night in Lisbon is 140 euros.";
const TRAVEL = { description: "Travel rules: flights, hotels, trains", keywords: ["flight", "hotel", "train"] };
const KEYS = { acme: { authorization: "Bearer acme-key-1" }, globex: { authorization: "Bearer globex-key-1" } };

describe("over HTTP,", () => {
  const running = useServiceWithEpisodes({ API_KEYS: "acme-key-1:acme,globex-key-1:globex" });
  let acme: KnowledgeClient;
  let globex: KnowledgeClient;
  let turns = 0;
  beforeAll(async () => {
    acme = makeKnowledgeClient(running.url, KEYS.acme);
    globex = makeKnowledgeClient(running.url, KEYS.globex);
    await acme.put("travel", TRAVEL);
    await acme.add("travel", { title: "Travel handbook", text: HANDBOOK, external_id: "handbook" });
    await acme.settled("travel");
  });

  const say = async (message: string, fields: object = {}, headers: Record<string, string> = KEYS.acme): Promise<TurnResult> => {
    const body = { user_id: "ada", session_id: `session ${turns++}`, message, ...fields };
    const { status, json, text } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body, headers);
    expect({ status, text }).toMatchObject({ status: 200 });
    return json;
  };
  const lastPrompt = (): string =>
    running.model.seen
      .at(-1)
      ?.body.messages.map(({ content }) => content)
      .join("\n") ?? "";

  test("a knowledge base is made, changed, listed and read by its own tenant only", async () => {
    expect((await acme.put("hr", { description: "Leave" })).status).toBe(201);
    const changed = await acme.put("hr", { description: "Leave and holidays", keywords: ["holiday"], worker: "hybrid_agent" });
    expect({ status: changed.status, json: changed.json }).toEqual({
      status: 200,
      json: { kb_prefix: "hr", description: "Leave and holidays", keywords: ["holiday"], worker: "hybrid_agent" },
    });
    const { json } = await callApi<{ knowledge: { kb_prefix: string }[] }>(`${running.url}/api/v1/knowledge`, { headers: KEYS.acme });
    expect(json.knowledge.map(({ kb_prefix }) => kb_prefix)).toEqual(["hr", "travel"]);
    const other = await callApi<{ knowledge: unknown[] }>(`${running.url}/api/v1/knowledge`, { headers: KEYS.globex });
    expect(other.json.knowledge).toEqual([]);
    expectRefusal(await globex.remove("hr"), { status: 404, code: "not_found", says: /"hr"/ });
    expect((await acme.remove("hr")).json).toEqual({ deleted: { documents: 0 } });
    expectRefusal(await acme.remove("hr"), { status: 404, code: "not_found" });
  });

  test.each([
    ["general", TRAVEL, "kb"],
    ["Travel!", TRAVEL, "kb"],
    ["%00", TRAVEL, "kb"],
    ["x".repeat(65), TRAVEL, "kb"],
    ["fine", { description: " " }, "description"],
    ["fine", { description: "x", keywords: "y" }, "keywords"],
    ["fine", { description: "x", keywords: [""] }, "keywords.0"],
    ["fine", { description: "x", colour: "red" }, "colour"],
    ["fine", { description: "x", worker: "clever_agent" }, "worker"],
  ])("the knowledge base %s with the body %j is refused, naming %s", async (kb, body, field) => {
    expectRefusal(await acme.put(kb, body), { status: 400, code: "invalid_request", field });
  });

  test("a search finds passages of its own base only, with their scores and the best first", async () => {
    const found = (kb: string, query: string) =>
      callApi<ErrorBody & { passages: { title: string; text: string; score: number }[]; degraded: boolean }>(
        `${running.url}/api/v1/knowledge/${kb}/passages?query=${encodeURIComponent(query)}`,
        { headers: KEYS.acme },
      );
    const { json } = await found("travel", "What is the hotel limit in Lisbon?");
    expect(json.degraded).toBe(false);
    expect(json.passages[0]).toMatchObject({ title: "Travel handbook", text: expect.stringContaining("140 euros") as unknown });
    const scores = json.passages.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
    expectRefusal(await found("travel", " "), { status: 400, code: "invalid_request", field: "query" });
    expectRefusal(await found("nowhere", "hotel"), { status: 404, code: "not_found" });
  });

  test("an answer's prompt has the fitting passages in a numbered block, and its receipt names them in that order", async () => {
    const { receipt, degraded } = await say("What is the hotel limit in Lisbon?");
    expect(degraded).toEqual([]);
    expect(receipt.passages[0]).toMatchObject({ title: "Travel handbook", document_id: expect.any(String) as unknown });
    const prompt = running.model.seen.at(-1)?.body.messages ?? [];
    expect(prompt[0]?.content).not.toContain("140 euros");
    expect(prompt.at(-1)?.content).toMatch(
      /<passages>\n\[1\] Travel handbook[^\n]*\n> [^]*140 euros[^]*<\/passages>[^]*What is the hotel limit in Lisbon\?$/,
    );
  });

  test("an answer keeps the passages that it cites, even when their document is deleted", async () => {
    await acme.put("kept", { description: "Hotels" });
    await acme.add("kept", { title: "Hotel list", text: HANDBOOK });
    const [document] = await acme.settled("kept");
    running.model.answer({ tokens: ["It is 140 euros [1]."] });
    const { message_id: id, receipt } = await say("What is the hotel limit in Lisbon?", { kb_prefix: "kept" });
    running.model.answer({});
    const [passage] = receipt.passages;
    const metadata = async (): Promise<Record<string, unknown>> => {
      const address = `${running.url}/api/v1/messages/${id}`;
      return (await callApi<{ message: { metadata: Record<string, unknown> } }>(address, { headers: KEYS.acme })).json.message.metadata;
    };
    const kept = await metadata();
    expect(kept).toMatchObject({
      route: { kb_prefix: "kept", method: "requested" },
      citations: [{ number: 1, passage_id: passage?.id, document_id: document?.id, title: "Hotel list", heading: passage?.heading }],
    });
    expect(JSON.stringify(kept)).not.toContain("euros");
    await acme.remove(`kept/documents/${document?.id}`);
    expect(await metadata()).toEqual(kept);
    await acme.remove("kept");
  });

  test("a passage of a receipt can be read only by its own tenant and in its own base", async () => {
    const { receipt } = await say("What is the hotel limit in Lisbon?");
    const id = receipt.passages[0]?.id;
    const read = (headers: Record<string, string>, kb = "travel", passage = id) =>
      callApi(`${running.url}/api/v1/knowledge/${kb}/passages/${passage}`, { headers });
    expect((await read(KEYS.acme)).json).toEqual({
      id,
      document_id: receipt.passages[0]?.document_id,
      title: "Travel handbook",
      heading: expect.any(String) as unknown,
      position: expect.any(Number) as unknown,
      text: expect.stringContaining("140 euros") as unknown,
    });
    expectRefusal(await read(KEYS.globex), { status: 404, code: "not_found" });
    expectRefusal(await read(KEYS.acme, "hr"), { status: 404, code: "not_found" });
    expectRefusal(await read(KEYS.acme, "travel", "x"), { status: 400, code: "invalid_request" });
  });

  test("a document's passages are listed in order, page by page, only for its own tenant and in its own base", async () => {
    await acme.put("long", { description: "Rules" });
    const rule = (number: number): string => `## Rule ${number}\n${`Rule number ${number} says something about journeys. `.repeat(60)}`;
    await acme.add("long", { title: "Rules", text: Array.from({ length: 5 }, (_, index) => rule(index + 1)).join("\n\n") });
    const [document] = await acme.settled("long");
    const list = (query = "", headers: Record<string, string> = KEYS.acme, kb = "long", id = document?.id) =>
      callApi<{ passages: { position: number; heading: string; text: string }[]; next: string | null } & ErrorBody>(
        `${running.url}/api/v1/knowledge/${kb}/documents/${id}/passages${query}`,
        { headers },
      );
    const { json: all } = await list();
    expect(all.passages.map(({ position }) => position)).toEqual(all.passages.map((_passage, index) => index));
    expect([all.passages.length, all.next]).toEqual([document?.chunk_count, null]);
    expect(all.passages[0]).toMatchObject({ heading: "Rule 1", title: "Rules", document_id: document?.id });
    const { json: first } = await list("?limit=2");
    const { json: second } = await list(`?limit=200&after=${first.next}`);
    expect([...first.passages, ...second.passages]).toEqual(all.passages);
    expectRefusal(await list("", KEYS.globex), { status: 404, code: "not_found" });
    expectRefusal(await list("", KEYS.acme, "travel"), { status: 404, code: "not_found" });
    expectRefusal(await list("?after=x"), { status: 400, code: "invalid_request", field: "after" });
    await acme.remove("long");
  });

  test("chat_agent uses no documents, naive_rag_agent finds them by vectors alone, and a greeting asks for none", async () => {
    expect((await say("What is the hotel limit in Lisbon?", { agent_type: "chat_agent" })).receipt.passages).toEqual([]);
    expect((await say("What is the hotel limit in Lisbon?", { agent_type: "naive_rag_agent" })).receipt.passages[0]?.title).toBe(
      "Travel handbook",
    );
    expect((await say("Good morning to you!")).receipt.passages).toEqual([]);
    expect(lastPrompt()).not.toContain("<passages>");
  });

  test("a base's worker decides how its turns search the base, unless a turn names another worker", async () => {
    const withWorker = async (worker: string | undefined): Promise<void> => void (await acme.put("travel", { ...TRAVEL, worker }));
    const asked = "What is the hotel limit in Lisbon?";
    await withWorker("chat_agent");
    const quiet = await say(asked);
    expect(quiet.receipt.passages).toEqual([]);
    const { json } = await callApi(`${running.url}/api/v1/messages/${quiet.message_id}`, { headers: KEYS.acme });
    expect(json).toMatchObject({ message: { metadata: { worker_name: "travel:chat_agent" } } });
    expect((await say(asked, { agent_type: "hybrid_agent" })).receipt.passages[0]?.title).toBe("Travel handbook");
    await withWorker("naive_rag_agent");
    expect((await say(asked, { agent_type: null })).receipt.passages[0]?.title).toBe("Travel handbook");
    await withWorker(undefined);
  });

  test("a deleted document is in no later answer, and neither are the documents of a deleted base", async () => {
    await acme.put("gone", TRAVEL);
    await acme.add("gone", { title: "One", text: HANDBOOK });
    const [one] = await acme.settled("gone");
    expect((await acme.remove(`gone/documents/${one?.id}`)).status).toBe(200);
    expect((await say("What is the hotel limit in Lisbon?", { kb_prefix: "gone" })).receipt.passages).toEqual([]);
    expectRefusal(await acme.remove(`gone/documents/${one?.id}`), { status: 404, code: "not_found" });
    expectRefusal(await acme.remove("gone/documents/xyz"), { status: 400, code: "invalid_request", field: "document id" });
    await acme.remove("gone");
    const body = { user_id: "ada", session_id: "s", message: "hotel", kb_prefix: "gone" };
    const refused = await postJson(`${running.url}/api/v1/chat`, body, KEYS.acme);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "kb_prefix" });
  });

  test.each([
    [{}, "text/plain", "x", 400, "invalid_request"],
    [{ title: "x" }, "image/png", "png", 415, "unsupported_media_type"],
    [{ title: "x" }, "text/plain", "", 422, "document_unreadable"],
    [{ title: "x" }, "application/pdf", "no PDF", 422, "document_unreadable"],
  ] as const)("a file with %j of type %s that is %j is refused with %i %s", async (query, type, bytes, status, code) => {
    const answer = await acme.upload("travel", { ...query }, type, bytes);
    expect({ status: answer.status, code: answer.json.error.code }).toEqual({ status, code });
  });

  test("a failed document is read again only when its file is stored, and an indexed one stays as it is", async () => {
    await acme.put("again", { description: "Papers" });
    await acme.upload("again", { title: "broken" }, "application/pdf", "%PDF-1.7 and nothing more");
    await acme.add("again", { title: "read", text: "Words." });
    const documents = await acme.settled("again");
    const idOf = (status: string): string => documents.find((document) => document.status === status)?.id ?? "";
    expect(documents.map(({ can_read_again }) => can_read_again)).toEqual([false, false]);
    const refused = await acme.readAgain("again", idOf("failed"));
    expectRefusal(refused, { status: 422, code: "document_unreadable", says: /is not kept\. Mend it and upload it again/ });
    expect(await acme.readAgain("again", idOf("indexed"))).toMatchObject({ status: 202, json: { status: "indexed" } });
    expectRefusal(await acme.readAgain("travel", idOf("indexed")), { status: 404, code: "not_found" });
    await acme.remove("again");
  });

  test("a document is refused with 404 when its base does not exist, and with 413 when it is too large", async () => {
    expectRefusal(await acme.add("nowhere", { title: "x", text: "y" }), { status: 404, code: "not_found", says: /"nowhere"/ });
    const large = new Uint8Array(21 * 1024 * 1024).fill(97);
    const refused = await acme.upload("travel", { title: "x" }, "text/plain", large);
    expectRefusal(refused, { status: 413, code: "body_too_large", says: /20971520 bytes/ });
  });
});

test("without an index the service refuses documents and says what to do, and a turn reports that it has no knowledge", async () => {
  const service = await openTestService();
  const knowledge = makeKnowledgeClient(service.url);
  await knowledge.put("travel", TRAVEL);
  const refused = await knowledge.add("travel", { title: "x", text: "y" });
  expectRefusal(refused, { status: 503, code: "index_unavailable", says: /ENABLE_EPISODIC_MEMORY=true/ });
  const body = { user_id: "ada", session_id: "s", message: "Which hotel?" };
  expect((await postJson<TurnResult>(`${service.url}/api/v1/chat`, body)).json.degraded).toEqual(["knowledge"]);
  await service.close();
});
