import { describe, expect, test } from "@jest/globals";
import { makeFirstAsked, makeWithoutBabble } from "../../../memory/recall/babble.ts";

const REX = "The capital of Lisbon is Rex.";
const said = (userMessage: string, assistantMessage: string) => ({ userMessage, assistantMessage });

/** The messages whose answers are babble. */
function babbled(...exchanges: ReturnType<typeof said>[]): string[] {
  const withoutBabble = makeWithoutBabble(exchanges);
  return exchanges.filter((one) => withoutBabble(one) !== one).map(({ userMessage }) => userMessage);
}

describe("among exchanges that are shown together, the answer is babble", () => {
  test("that was given to messages which share nothing", () => {
    expect(babbled(said("I live in Lisbon.", REX), said("My dog is called Rex.", REX), said("I like tea.", "Tea is good."))).toEqual([
      "I live in Lisbon.",
      "My dog is called Rex.",
    ]);
    const zh = "我是一个乐于助人的助手。";
    expect(babbled(said("我住在上海。", zh), said("我对花生过敏。", zh))).toHaveLength(2);
  });

  test("that loops", () => expect(babbled(said("Where do I live?", "I am a helpful assistant. ".repeat(4)))).toHaveLength(1));

  test.each([
    [
      "that was given to one question twice",
      said("Where do I live?", "You live in Lisbon."),
      said("Do I live here?", "You live in Lisbon."),
    ],
    ["that is short", said("Do I like tea?", "Yes."), said("Is Rex a dog?", "Yes.")],
    ["that stands alone", said("Where do I live?", REX), said("I like tea.", "Tea is good.")],
    ["to nothing", said("", "Welcome to the harbour."), said("I like tea.", "Welcome to the harbour.")],
  ])("but none %s", (_what, ...exchanges) => expect(babbled(...exchanges)).toEqual([]));
});

test("a short question with the words of one before is left out; what is told or long is not", () => {
  const firstAsked = makeFirstAsked();
  const long = `Where do I live, ${"if not in a house by the sea, ".repeat(4)}and why?`;
  const messages = ["Where do I live?", "where do I live", "我住在哪里？", "我住在哪里", "I live here.", "I live here.", long, long];
  const texts = messages.map((userMessage, place) => ({ id: String(place), userMessage }));
  const ids = (found: typeof texts): string[] => found.map(({ id }) => id);
  expect(ids(firstAsked(["2", "1", "0"], texts))).toEqual(["2", "1"]);
  expect(ids(firstAsked(["3", "4", "5", "6", "7", "8"], texts))).toEqual(["4", "5", "6", "7"]);
});
