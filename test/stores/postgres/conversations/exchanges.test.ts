import { expect, jest, test } from "@jest/globals";
import { toExchanges } from "../../../../stores/postgres/conversations/exchanges.ts";
import type { Imported } from "../../../../stores/postgres/conversations/import-store.ts";
import type { MessageToImport } from "../../../../stores/postgres/conversations/plan-import.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";

const said = (role: "user" | "assistant", content: string, time: string): MessageToImport => {
  return { role, content, createdAt: new Date(`2024-01-31T${time}Z`), metadata: {} };
};
const pair = (name: string, minute: number) => [
  said("user", name, `12:0${minute}:00`),
  said("assistant", `re ${name}`, `12:0${minute}:30`),
];

describeStores("an imported exchange", ({ imports, episodes }) => {
  const owner = { tenantId: "tenant", userId: "ada" };
  const bring = (sessionId: string, messages: MessageToImport[]) => imports.import({ ...owner, sessionId, messages, jobKinds: [] });
  const readBacklog = (conversationId: string) => episodes.readBacklog({ ...owner, conversationId }, "i", 100);
  const exchangesOf = async (conversationId: string): Promise<string[]> =>
    toExchanges((await readBacklog(conversationId)).messages).map(
      ({ asked, answer }) => `${asked?.content ?? "-"} ${answer?.content ?? "-"}`,
    );
  /** What each import came to, and the exchanges that are not indexed in the end. */
  async function bringInParts(sessionId: string, ...parts: MessageToImport[][]): Promise<{ made: number[]; exchanges: string[] }> {
    const imported: Imported[] = [];
    for (const messages of parts) imported.push(await bring(sessionId, messages));
    return { made: imported.map(({ exchanges }) => exchanges), exchanges: await exchangesOf(imported[0]?.conversationId ?? "") };
  }
  /** As if all of a conversation had been indexed, whatever it is. */
  async function indexAll({ conversationId }: Imported): Promise<void> {
    const backlog = await readBacklog(conversationId);
    const { createdAt, id } = backlog.messages.at(-1) ?? { createdAt: new Date(0), id: "" };
    const progress = { indexedThrough: { createdAt, id }, lastEpisodeId: null };
    expect(await episodes.advance({ ...owner, conversationId }, "i", backlog, progress)).toBe(true);
  }

  test("is one of a question and its answer that come in two calls, in either order", async () => {
    const [asked, answer] = [said("user", "q", "12:00:00"), said("assistant", "a", "12:01:00")];
    expect(await bringInParts("split", [asked], [answer])).toEqual({ made: [1, 1], exchanges: ["q a"] });
    expect(await bringInParts("split 2", [answer], [asked])).toEqual({ made: [1, 1], exchanges: ["q a"] });
  });

  test("pairs messages of one time by the order in which they were given, also in calls of processes whose clocks differ", async () => {
    const clock = jest.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
    await bring("skewed", [said("user", "q", "12:00:00")]);
    clock.mockRestore();
    expect(await bringInParts("skewed", [said("assistant", "a", "12:00:00")])).toEqual({ made: [1], exchanges: ["q a"] });
  });

  test("counts messages without a partner as exchanges, and keeps the pairs there are when others come between", async () => {
    const there = [said("user", "q", "12:00:00"), said("assistant", "a", "12:04:00")];
    const between = [said("assistant", "note", "12:01:00"), said("user", "more", "12:02:00"), said("user", "and more", "12:03:00")];
    const exchanges = ["q a", "- note", "more -", "and more -"];
    expect(await bringInParts("between", there, between)).toEqual({ made: [1, 3], exchanges });
  });

  test("takes no message for a live one whose metadata name a turn", async () => {
    const exported = { role: "user" as const, content: "exported", createdAt: null, metadata: { turn_id: crypto.randomUUID() } };
    expect(await bringInParts("exported", [exported])).toEqual({ made: [1], exchanges: ["exported -"] });
  });

  test("has the index go back to older ones, and go on to newer ones", async () => {
    await indexAll(await bring("reindex", [...pair("a", 1), ...pair("c", 3)]));
    expect((await bringInParts("reindex", pair("d", 4))).exchanges).toEqual(["d re d"]);
    expect((await bringInParts("reindex", pair("b", 2))).exchanges).toEqual(["b re b", "c re c", "d re d"]);
  });

  test("has the index go back to a question that was alone and gets its answer", async () => {
    await indexAll(await bring("answer", [said("user", "asked", "12:00:00")]));
    expect((await bringInParts("answer", [said("assistant", "late answer", "12:01:00")])).exchanges).toEqual(["asked late answer"]);
  });

  test("is not passed over by a reader who has read before it was there", async () => {
    const { conversationId } = await bring("late", [said("user", "second", "12:02:00")]);
    const backlog = await readBacklog(conversationId);
    await bring("late", [said("user", "first", "12:01:00")]);
    const progress = { indexedThrough: backlog.messages[0] ?? { createdAt: new Date(0), id: "" }, lastEpisodeId: null };
    expect(await episodes.advance({ ...owner, conversationId }, "i", backlog, progress)).toBe(false);
    expect(await exchangesOf(conversationId)).toEqual(["first -", "second -"]);
  });
});
