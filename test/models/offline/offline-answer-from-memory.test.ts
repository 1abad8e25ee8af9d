import { HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { offlineAnswer } from "../../../models/offline/offline-answer.ts";
import { assemblePrompt, type PromptParts } from "../../../nodes/prompt/assemble-prompt.ts";

const PASSAGES = [
  {
    id: "a",
    documentId: "d",
    title: "Travel handbook",
    heading: "Hotels",
    text: "Rooms are booked early. The limit in Lisbon is 140 euros.",
    score: 2,
  },
  { id: "b", documentId: "e", title: "报销制度", heading: "", text: "差旅费用应在返回后三十天内报销。", score: 1 },
];

/** The prompt as the graph makes it. */
function promptOf(message: string, parts: Partial<PromptParts> = {}): BaseMessage[] {
  return assemblePrompt({ summary: null, window: [], message, tokenBudget: 8_000, ...parts }).messages;
}

describe("the offline answer from what memory put into the prompt", () => {
  const documents = { passages: PASSAGES, isIncomplete: false };

  test("is the sentence of the best passage, cited by its number", () => {
    expect(offlineAnswer(promptOf("What is the limit in Lisbon?", { documents }))).toContain(
      '"Travel handbook > Hotels" says: "The limit in Lisbon is 140 euros." [1]',
    );
    expect(offlineAnswer(promptOf("差旅费用多久内报销？", { documents }))).toContain(
      "《报销制度》中写道：“差旅费用应在返回后三十天内报销。” [2]",
    );
  });

  test("falls back to what the user said when no passage has anything of the question", () => {
    const prompt = [
      new SystemMessage("x"),
      new HumanMessage("My cat is called Tom."),
      ...promptOf("What is my cat called?", { documents }).slice(1),
    ];
    expect(offlineAnswer(prompt)).toContain('You said earlier: "My cat is called Tom."');
  });

  test("quotes core memory when nobody has said it in this conversation", () => {
    const coreMemory = [{ section: "profile", content: "Lives in Porto.\nName: Ada.", version: 3 }];
    expect(offlineAnswer(promptOf("Which town lives in my heart?", { coreMemory }))).toContain('What I know about you: "Lives in Porto."');
    const chinese = [{ section: "profile", content: "住在上海。", version: 1 }];
    expect(offlineAnswer(promptOf("我住在哪里？", { coreMemory: chinese }))).toContain("关于你，我知道：“住在上海。”");
  });

  test("quotes an archived memory, which has no answer of an assistant", () => {
    const archived = {
      id: "m",
      score: 1,
      conversationId: "c",
      userMessage: "The passport expires in May.",
      assistantMessage: "",
      messageIds: ["q"],
      createdAt: "2026-01-02T00:00:00.000Z",
    };
    const prompt = promptOf("When does the passport expire?", { episodes: [archived] });
    expect(prompt.at(-1)?.text).toContain("[2026-01-02] Noted:\n> The passport expires in May.");
    expect(offlineAnswer(prompt)).toContain('You said earlier: "The passport expires in May."');
  });

  test("takes neither notes about documents nor tags for the question", () => {
    const answer = offlineAnswer(promptOf("Is anything there?", { documents: { passages: [], isIncomplete: true } }));
    expect(answer).toContain("I found nothing about this");
  });
});
