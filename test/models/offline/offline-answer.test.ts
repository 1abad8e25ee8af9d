import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { offlineAnswer } from "../../../models/offline/offline-answer.ts";

const SYSTEM = new SystemMessage("You are a helpful assistant. Blue whales live in the sea.");

/** A prompt of user texts, each earlier one answered, the last one not. */
function promptOf(...texts: string[]): BaseMessage[] {
  const earlier = texts.slice(0, -1).flatMap((text) => [new HumanMessage(text), new AIMessage("Noted, the answer is 42.")]);
  return [SYSTEM, ...earlier, new HumanMessage(texts.at(-1) ?? "")];
}

describe("the offline answer", () => {
  test("says in English that it is the offline model, and how to get real answers", () => {
    const answer = offlineAnswer(promptOf("Hello!"));
    expect(answer).toContain("offline model");
    expect(answer).toContain("OPENAI_API_KEY");
    expect(answer).not.toMatch(/\p{Script=Han}/u);
  });

  test("says in Chinese that it is the offline model when the message has Chinese characters", () => {
    for (const message of ["你好", "帮我 check 一下 flight"]) {
      const answer = offlineAnswer(promptOf(message));
      expect(answer).toContain("离线模型");
      expect(answer).toContain("OPENAI_API_KEY");
    }
  });

  test("quotes the sentence of the window that fits the question best", () => {
    const told = "I live in Oslo. My favourite colour is green! I have two cats and one dog.";
    expect(offlineAnswer(promptOf(told, "Which colour do I like?"))).toContain('"My favourite colour is green!"');
    expect(offlineAnswer(promptOf(told, "How many cats and dogs, I mean cats, do I have?"))).toContain('"I have two cats and one dog."');
  });

  test("quotes the Chinese sentence of the window that fits the question best", () => {
    const told = "我住在上海。我最喜欢的颜色是绿色！我有两只猫。";
    expect(offlineAnswer(promptOf(told, "我喜欢什么颜色？"))).toContain("“我最喜欢的颜色是绿色！”");
    expect(offlineAnswer(promptOf(told, "住在哪里？"))).toContain("“我住在上海。”");
  });

  test("quotes the latest of sentences that fit equally well", () => {
    const answer = offlineAnswer(promptOf("My colour is green.", "My colour is blue.", "What is my colour?"));
    expect(answer).toContain('"My colour is blue."');
    expect(answer).not.toContain("green");
  });

  test("quotes only what the user said, never the system text, the assistant or an earlier question", () => {
    expect(offlineAnswer(promptOf("Hi.", "Where do whales live?"))).toContain("I found nothing");
    expect(offlineAnswer(promptOf("Hi.", "Is the answer 42?"))).toContain("I found nothing");
    expect(offlineAnswer(promptOf("Which colour do I like?", "Which colour do I like?"))).toContain("I found nothing");
    expect(offlineAnswer(promptOf("我喜欢什么颜色？", "我喜欢什么颜色？"))).toContain("没有找到");
  });

  test("quotes what a summary or an earlier exchange in the prompt says that the user said, and asks only what stands behind them", () => {
    const summary = new SystemMessage(
      "Be helpful.\n\n<conversation_summary>\n> - User: I live in Oslo.\n> - Assistant: Oslo is cold.\n</conversation_summary>",
    );
    expect(offlineAnswer([summary, new HumanMessage("Where do I live?")])).toContain('"I live in Oslo."');
    const recalled =
      "A record:\n<earlier_exchanges>\n[2026-01-03] User:\n> 我最喜欢的导演是诺兰。\nAssistant:\n> 好的。\n</earlier_exchanges>\n\n";
    expect(offlineAnswer([SYSTEM, new HumanMessage(`${recalled}我喜欢哪位导演？`)])).toContain("“我最喜欢的导演是诺兰。”");
    expect(offlineAnswer([SYSTEM, new HumanMessage(`${recalled}What is a quasar?`)])).toContain("I found nothing");
  });

  test("is not led by words that every question has", () => {
    expect(offlineAnswer(promptOf("I do like the sea.", "What is the name of my dog?"))).toContain("I found nothing");
  });

  test("gives a quoted text as it is, also when it looks like a pattern or a template", () => {
    const told = "The password hint is $& {name} %s $1.";
    expect(offlineAnswer(promptOf(told, "password hint?"))).toContain(`"${told}"`);
  });

  test("property: the same prompt always gets the same answer, which is never empty", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 5 }), (texts) => {
        const answer = offlineAnswer(promptOf(...texts));
        expect(answer).toBe(offlineAnswer(promptOf(...texts)));
        expect(answer).toContain("offline model");
      }),
    );
  });

  test("answers an empty prompt too", () => {
    expect(offlineAnswer([])).toContain("offline model");
  });
});
