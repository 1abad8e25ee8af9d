import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

/** What is said in one language, asked in the other, and whether a word, name or number is in both. */
const PAIRS = readFileSync(new URL("language-pairs.tsv", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split("\t") as [said: string, asked: string, carries: "yes" | "no"]);

describe("what was said in one language and is asked in another", () => {
  const service = useServiceWithEpisodes();
  test("is among the first five with the built-in embedder where a name, a number or a loanword is in both", async () => {
    const messages = PAIRS.flatMap(([said]) => [
      { role: "user" as const, content: said },
      { role: "assistant" as const, content: "OK." },
    ]);
    const { conversation_id } = await service.bring("ada", messages);
    await service.settle(conversation_id);
    const missed: string[] = [];
    for (const [said, asked] of PAIRS.filter(([, , carries]) => carries === "yes")) {
      const { json } = await service.episodes("ada", { query: asked, limit: "5" });
      if (!json.episodes.some(({ user_message }) => user_message === said)) missed.push(asked);
    }
    expect(missed).toEqual([]);
  });
});
