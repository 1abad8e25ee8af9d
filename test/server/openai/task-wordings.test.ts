import { describe, expect, test } from "@jest/globals";
import { detectTaskByWording } from "../../../server/openai/front-end-task.ts";
import { OPEN_WEBUI } from "./front-end-requests.ts";

const TITLE = OPEN_WEBUI[0]?.body.messages[0]?.content ?? "";

describe("the wording of a front end's task", () => {
  const PEOPLE: [what: string, text: string][] = [
    ["a question about a title", "Generate a concise title for my essay on ornithopters"],
    ["a heading of their own", "### Task:\nWrite a poem about the sea.\n### Output:\nFour lines."],
    ["a heading with JSON", '### Task:\nName my cat.\n### Output:\nJSON format: { "title": "…" }'],
    ["a task in the middle of a sentence", `Open WebUI sends this, what does it mean?\n${TITLE}`],
    ["a task with a question behind it", `${TITLE}\n\nWhat does this prompt do?`],
    ["a chat between tags", "Summarise:\n<chat_history>\nUSER: hi\n</chat_history>"],
    ["the first words only", "### Task:\nYou are an autocompletion system. Is that true?"],
    ["emoji wanted", "Which emoji fits the facial expression of a tired person?"],
    ["LibreChat's first words", "Provide a concise, 5-word-or-less title for the conversation, using only verbs."],
    ["nothing", ""],
    [
      "Open WebUI's wrapping of a question with documents",
      '### Task:\nRespond to the user query using the provided context, …\n\n### Output:\nProvide a clear and direct response …\n\n<context>\n<source id="1">about <chat_history> tags</source>\n</context>\n\nWhat is in there?',
    ],
  ];
  test.each(PEOPLE)("is not seen in what people write: %s", (_what, text) => {
    expect(detectTaskByWording(text)).toBeNull();
  });

  test("is seen with the line ends of Windows and white space around", () => {
    expect(detectTaskByWording(`  ${TITLE.replaceAll("\n", "\r\n")}\r\n`)).toBe("title");
  });

  test("is seen whatever a template of one's own is for, when it keeps the frame", () => {
    expect(detectTaskByWording("### Task:\nRate this chat.\n### Output:\nA number.\n<chat_history>\nUSER: hi\n</chat_history>")).toBe(
      "other",
    );
  });

  test("takes no longer than the text is long", () => {
    const hostile = "### Task:\n" + "### Output:\n<chat_history>\n</chat_history>\n \n".repeat(200_000) + "x";
    const began = performance.now();
    expect(detectTaskByWording(hostile)).toBeNull();
    expect(performance.now() - began).toBeLessThan(2_000); // one pass takes some 50 ms, a search in a search takes hours
  });
});
