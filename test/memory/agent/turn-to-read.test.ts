import { describe, expect, test } from "@jest/globals";
import { likeliestTurn, triggerOf } from "../../../memory/agent/turn-to-read.ts";
import { turnToRead } from "../../support/sample-agent.ts";

describe("likeliestTurn", () => {
  const cat = turnToRead("My cat is called Minka.", 1);
  const move = turnToRead("I moved to Porto with my cat.", 2);
  const piano = turnToRead("我女儿的钢琴老师叫林晓梅。", 3);
  const thanks = turnToRead("Thanks!", 4);
  const turns = [cat, move, piano, thanks];

  test.each([
    ["Has a cat called Minka", cat],
    ["Lives in Porto", move],
    ["moved, Porto, cat", move],
    ["女儿的钢琴老师：林晓梅", piano],
    ["PORTO", move],
  ])("of turns that were read together finds the one that has most words of %j", (text, turn) => {
    expect(likeliestTurn(turns, text)?.userMessage).toBe(turn.userMessage);
  });

  test("counts a word that a message says again and again once", () => {
    const again = turnToRead("Porto Porto Porto Porto", 5);
    expect(likeliestTurn([again, turnToRead("I moved to Porto with Minka", 6)], "moved Porto Minka")?.messageId).not.toBe(again.messageId);
  });

  test.each(["", "zebra", "!?"])("of equals takes the last, also when none has a word of %j", (text) => {
    expect(likeliestTurn(turns, text)).toBe(thanks);
    expect(likeliestTurn([cat, turnToRead("My cat is called Minka.", 7)], "Minka")?.messageId).toBe(turnToRead("", 7).messageId);
  });

  test("finds none among none", () => {
    expect(likeliestTurn([], "Porto")).toBeUndefined();
  });

  test("does not look at what the assistant said", () => {
    const told = turnToRead("What is it?", 8, { assistantMessage: "Porto Porto Porto" });
    expect(likeliestTurn([move, told], "Porto")).toBe(move);
  });
});

test("triggerOf names the message, its time and who it came from, and no word of it", () => {
  const turn = turnToRead("My cat is called Minka.", 1, { actor: "import" });
  expect(triggerOf(turn)).toEqual({ messageId: turn.messageId, saidAt: turn.saidAt, actor: "import" });
});
