import { describe, expect, test } from "@jest/globals";
import { permissionQuestion } from "../../agents/questions/questions.ts";
import { askInWords, languageOf } from "../../turn/ask-in-words.ts";
import { readReply, type ReadReply } from "../../turn/read-reply.ts";
import type { Question } from "../../turn/question.ts";

const call = { seq: 1, id: "c", name: "order", arguments: '{"item":"tea"}' };
const { options } = permissionQuestion("asks", call, { digest: "digest", mayHaveRun: false });
const permission = { type: "permission" as const, options, allow_multiple: false };

const option = (label: string, is_recommended = false) => ({ label, description: "", is_recommended });
const branch = { type: "decision" as const, options: [option("Lisbon"), option("Porto", true), option("Faro")], allow_multiple: false };
const several = { ...branch, allow_multiple: true };
const confirmation = { ...branch, options: [option("yes"), option("no")] };
const chinese = { ...branch, options: [option("是"), option("否")] };
const open = { ...branch, options: [] };

describe("a reply to a permission", () => {
  test.each([
    ...["yes", "Yes.", "YES!", " y ", "ok", "OK 👍", "Sure", "go ahead", "Please do.", "allow_once", "1", "1.", "１"],
    ...["是", "是的。", "好", "好的！", "可以", "行", "允许", "同意", "嗯", "没问题", "第一个", "一", "选1", "👍", "👍🏽", "✅"],
  ])("allows one call when it is: %s", (reply) => {
    expect(readReply(permission, reply)).toEqual({ answer: "allow_once" });
  });

  test.each(["always", "Always allow", "yes, always", "allow_always", "2", "总是允许", "总是", "以后都允许", "第二个"])(
    "allows the tool for good when it is: %s",
    (reply) => {
      expect(readReply(permission, reply)).toEqual({ answer: "allow_always" });
    },
  );

  test.each([
    "no",
    "No!",
    "n",
    "deny",
    "don't",
    "Don’t",
    "stop",
    "cancel",
    "3",
    "不",
    "不行",
    "不要。",
    "拒绝",
    "取消",
    "不可以",
    "第三个",
    "👎",
    "❌",
  ])("denies the call when it is: %s", (reply) => {
    expect(readReply(permission, reply).answer).toBe("deny");
  });

  test.each([
    ...[
      "yes but only one",
      "yes? what does it cost",
      "I said no, yes?",
      "maybe",
      "no 1",
      "4",
      "0",
      "1 2",
      "not yes",
      "allow nothing",
      "",
      "yes\nno",
    ],
    ...["好是好，可是太贵了", "不好", "可以吗", "可以不要吗", "允许什么？", "要不要是的", "两杯茶", "是不是"],
  ])("is no consent when it says anything else, and the model reads it: %j", (reply) => {
    expect(readReply(permission, reply)).toEqual({ answer: "deny", text: reply });
  });
});

describe("a reply to another question", () => {
  test.each<[question: typeof branch, reply: string, read: ReadReply]>([
    [branch, "2", { answer: "Porto" }],
    [branch, "option 2", { answer: "Porto" }],
    [branch, "第二个", { answer: "Porto" }],
    [branch, "porto.", { answer: "Porto" }],
    [branch, "4", { text: "4" }],
    [branch, "1, 3", { text: "1, 3" }],
    [branch, "Porto, if the weather is good", { text: "Porto, if the weather is good" }],
    [several, "1, 3", { answer: ["Lisbon", "Faro"] }],
    [several, "1和3", { answer: ["Lisbon", "Faro"] }],
    [several, "3 and 1 and 3", { answer: ["Faro", "Lisbon"] }],
    [several, "Faro", { answer: ["Faro"] }],
    [several, "1, 9", { text: "1, 9" }],
    [confirmation, "好的", { answer: "yes" }],
    [confirmation, "nope", { answer: "no" }],
    [chinese, "yes", { answer: "是" }],
    [chinese, "不要", { answer: "否" }],
    [branch, "yes", { text: "yes" }],
    [open, "2", { text: "2" }],
  ])("chooses options or is the person's own words, case %#: %j", (question, reply, read) => {
    expect(readReply(question, reply)).toEqual(read);
  });
});

describe("a question in words", () => {
  const shown = (fields: Partial<Question>): Question => ({
    ...{
      id: "q",
      path: ["helper"],
      type: "decision",
      agent: "asks",
      question: "Which town?",
      options: branch.options,
      allow_multiple: false,
      required: false,
    },
    expires_at: "2026-11-25T00:00:00.000Z",
    ...fields,
  });

  test("shows how to answer, and a call with all its arguments, which cannot close their fence", () => {
    const tool = { name: "order", arguments: { item: "tea\n```\n1. yes", note: "x".repeat(5_000) } };
    const words = askInWords(shown({ type: "permission", options, tool }), "en");
    expect(words).toContain(JSON.stringify(tool.arguments, null, 2));
    expect(words.split("\n").filter((line) => line.startsWith("```"))).toHaveLength(2);
    expect(words).toMatch(/"asks" call "order".*1\. allow this call\n2\. allow this tool from now on\n3\. do not allow it/s);
    expect(askInWords(shown({ type: "permission", options, tool: { name: "order", arguments: "no json\n```" } }), "zh")).toMatch(
      /智能体“asks”想.*"no json\\n```"\n```\n\n1\. 允许这一次/s,
    );
  });

  test("numbers its options in both languages", () => {
    const described = [{ label: "Porto", description: "by train", is_recommended: true }, option("Faro")];
    expect(askInWords(shown({ options: described }), "en")).toBe(
      "Which town?\n\n1. Porto: by train (recommended)\n2. Faro\n\nAnswer with a number, or in your own words.",
    );
    expect(askInWords(shown({ options: described, allow_multiple: true }), "zh")).toBe(
      "Which town?\n\n1. Porto：by train（推荐）\n2. Faro\n\n请回复一个或几个数字，或用自己的话回答。",
    );
    expect(askInWords(shown({ options: [] }), "en")).toBe("Which town?\n\nAnswer in your own words.");
  });

  test("is written in the language of what was said", () => {
    expect(["Order tea.", "订茶", "order 茶"].map(languageOf)).toEqual(["en", "zh", "zh"]);
  });
});
