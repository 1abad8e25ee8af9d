import { expect, test } from "@jest/globals";
import { traceWalks } from "../scripts/house/walks.ts";

/** The most files that a reader opens to follow each. A change that needs more says why, and raises its number. A busy machine adds some. */
const MOST = { turn: 48, model: 26, tool: 34, erase: 20, document: 30, langgraph: 20 };

test("a turn, a call, an erase, a document and a run of LangGraph go through no more files than before", async () => {
  const walks = await traceWalks();
  const lengths = Object.fromEntries(Object.entries(walks).map(([name, files]) => [name, files.length]));
  const most = Object.fromEntries(
    Object.entries(lengths).map(([name, length]) => [name, Math.max(length, MOST[name as keyof typeof MOST])]),
  );
  expect(Object.values(lengths).every((length) => length > 5)).toBe(true);
  expect(most).toEqual(MOST);
});
