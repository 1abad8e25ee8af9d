import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../turn/owner.ts";
import { removeThoughts } from "../../../../stores/postgres/turns/remove-thoughts.ts";
import { estimateTokens } from "../../../../text/tokens.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { placeOf, sampleSummary, storeConversation, summariseThrough } from "../../../support/databases/stored-conversation.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const TAGGED = "<think>The user lives in Linz.</think>\n\nHello!";
const NOTHING = { answers: 0, summaries: 0 };
const NEVER = new AbortController().signal;

describeStores("taking thoughts out of what is stored", ({ database, ...stores }) => {
  const remove = (signal = NEVER) => removeThoughts(database, signal);
  const rewrite = async ({ conversationId }: OwnedConversation, content: string, number: number) =>
    void (await database.query({
      text: "update messages set content = $2 where conversation_id = $1 and content = $3",
      values: [conversationId, content, `message ${number}`],
    }));

  test("changes the words and the count of answers, whatever the tags, and nothing else, once", async () => {
    const conversation = await storeConversation(database, { count: 12, tokenCount: 99, incomplete: [6] });
    const changed = [
      [2, TAGGED, "Hello!"],
      [4, "The user lives in Linz.\n</think>\n\nHello!", "Hello!"],
      [6, "[THINK]Linz?[/THINK]Hel", "Hel"],
      [8, "\n◁think▷Linz?◁/think▷Hello!", "Hello!"],
      [10, "<|channel|>analysis<|message|>Linz?<|end|><|start|>assistant<|channel|>final<|message|>Hello!", "Hello!"],
    ] as const;
    for (const [number, content] of changed) await rewrite(conversation, content, number);
    await rewrite(conversation, TAGGED, 5); // of the user
    await rewrite(conversation, "<think>The user lives in Linz.", 12); // it says nothing
    const before = await stores.messagesOf(conversation);
    expect(await remove()).toEqual({ answers: changed.length, summaries: 0 });
    const after = await stores.messagesOf(conversation);
    const cleaned = new Map<number, string>(changed.map(([number, , content]) => [number - 1, content]));
    expect(after).toEqual(
      before.map((message, place) => {
        const content = cleaned.get(place);
        return content === undefined ? message : { ...message, content, tokenCount: estimateTokens(content) };
      }),
    );
    expect(await remove()).toEqual(NOTHING);
  });

  test("reaches every answer of many, and goes on where it was interrupted", async () => {
    const conversation = await storeConversation(database, { count: 1_300 });
    const text = "update messages set content = $2 where conversation_id = $1 and role = 'assistant'";
    await database.query({ text, values: [conversation.conversationId, TAGGED] });
    const stopping = new AbortController();
    const seen: string[] = [];
    const query: typeof database.query = (statement) => {
      seen.push(statement.text);
      if (seen.filter((one) => one.startsWith("\nupdate messages")).length === 1) stopping.abort();
      return database.query(statement);
    };
    await expect(removeThoughts({ query }, stopping.signal)).rejects.toThrow();
    const left = (await remove()).answers;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(650);
    const kept = (await database.query<{ content: string }>({
      text: "select distinct content from messages where conversation_id = $1 and role = 'assistant'",
      values: [conversation.conversationId],
    })) as unknown;
    expect(kept).toEqual([{ content: "Hello!" }]);
  });

  test("leaves an answer that can still be sent again from a place in the middle, and takes it when its outcome is forgotten", async () => {
    for (const outcome of [{ continues_at: 3 }, { said_before: 3 }]) {
      const held = await stores.begin({ userId: uuidv7() });
      await stores.turns.finish(held, sampleAnswer({ content: TAGGED }), [], { outcome, ifSuperseded: {} });
      expect(await remove()).toEqual(NOTHING);
      expect(await stores.contentsOf(held)).toEqual(["a question", TAGGED]);
      await stores.records.clear(held, held.turnId);
      expect(await remove()).toEqual({ answers: 1, summaries: 0 });
      expect(await stores.contentsOf(held)).toEqual(["a question", "Hello!"]);
    }
  });

  test("does not write over what was changed after it was read", async () => {
    const conversation = await storeConversation(database, { count: 2 });
    await rewrite(conversation, TAGGED, 2);
    const query: typeof database.query = async (statement) => {
      if (statement.text.startsWith("\nupdate messages")) {
        const text = "update messages set content = content || ' And more.' where conversation_id = $1 and role = 'assistant'";
        await database.query({ text, values: [conversation.conversationId] });
      }
      return database.query(statement);
    };
    expect(await removeThoughts({ query }, NEVER)).toEqual(NOTHING);
    expect(await stores.contentsOf(conversation)).toEqual(["message 1", `${TAGGED} And more.`]);
    expect(await remove()).toEqual({ answers: 1, summaries: 0 });
    expect(await stores.contentsOf(conversation)).toEqual(["message 1", "Hello! And more."]);
  });

  test("takes out of a summary the thought that it begins with, in every kept version; cover point and version stay", async () => {
    const texts = ["<think>Linz?</think>\n\nThey met.", "They asked what </think> means.", "<think>Linz?"];
    const said = ["They met.", ...texts.slice(1)];
    const conversations = await Promise.all(
      texts.map(async (text) => {
        const conversation = await storeConversation(database, { count: 6 });
        await summariseThrough(database, conversation, 2);
        const summary = { readVersion: 1, text, tokenCount: 99, addedMessageCount: 2 };
        expect(await stores.summaries.save(conversation, sampleSummary(await placeOf(database, conversation, 4), summary))).toBe(true);
        return conversation;
      }),
    );
    const stored = (table: string) =>
      Promise.all(
        conversations.map(async ({ conversationId }) => {
          const text = `select * from ${table} where conversation_id = $1 and summary_version = 2`;
          return (await database.query<{ summary: string; token_count: number }>({ text, values: [conversationId] }))[0];
        }),
      );
    const tables = ["conversation_summaries", "conversation_summary_versions"] as const;
    const before = await Promise.all(tables.map(stored));
    expect(await remove()).toEqual({ answers: 0, summaries: 1 });
    const after = await Promise.all(tables.map(stored));
    expect(after).toEqual(
      before.map((rows) =>
        rows.map((row, place) => ({ ...row, summary: said[place], token_count: place === 0 ? estimateTokens("They met.") : 99 })),
      ),
    );
    expect(await remove()).toEqual(NOTHING);
  });
});
