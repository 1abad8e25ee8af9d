import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { streamAnswer } from "../../../models/stream-answer.ts";
import { smallModelMissing, startSmallModel } from "../../servers/small-model-server.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { useOpened } from "../../support/use-opened.ts";

const TEMPLATE = fileURLToPath(new URL("thinking.jinja", import.meta.url));
const PATIENCE_MS = 120_000;

/** Small models do not think: the grammar has this one do it, and answer with a sentence. */
const grammarOf = (begin: string): string => `root ::= ${begin} [a-z ]{10,30} "</think>\\n\\n" [A-Z] [a-z ]{5,20} "."`;
const OPENED = grammarOf('"<think>"');
const NOT_OPENED = grammarOf('""');

/** What llama.cpp does with thoughts: it leaves them in the content, or sends them beside it. */
const FORMATS = ["none", "auto", "deepseek", "deepseek-legacy"] as const;

describeUnless(smallModelMissing, "a real model on llama.cpp", () => {
  for (const format of FORMATS) {
    describe(`with --reasoning-format ${format}`, () => {
      const options = ["--chat-template-file", TEMPLATE, "--reasoning-format", format];
      const running = useOpened(async () => {
        const { url, stop } = await startSmallModel({ context: 2_048, slots: 1, options });
        return { url, close: async () => stop() };
      }, PATIENCE_MS);

      async function ask(grammar: string, model = createOpenAIChatModel({ model: "small", baseUrl: running.url, extraBody: { grammar } })) {
        const [tokens, thoughts]: [string[], string[]] = [[], []];
        const answer = await streamAnswer({
          model,
          prompt: [new HumanMessage("Hello!")],
          timeouts: { firstTokenMs: PATIENCE_MS, idleMs: PATIENCE_MS },
          onToken: (token) => void tokens.push(token),
          onThought: (thought) => void thoughts.push(thought),
        });
        return { ...answer, streamed: tokens.join(""), thought: thoughts.join("") };
      }

      test(
        "keeps its thoughts out of the answer",
        async () => {
          const { text, streamed, thought, error } = await ask(OPENED);
          expect(error).toBeNull();
          expect(text).toMatch(/^[A-Z][a-z ]{5,20}\.$/);
          expect(streamed).toBe(text);
          expect(thought.trim()).toMatch(/^[a-z ]*$/);
          expect(thought.trim()).not.toBe("");
        },
        PATIENCE_MS,
      );

      test(
        "keeps a thought out of the answer that has no opening tag, from the second answer on also while it streams",
        async () => {
          const model = createOpenAIChatModel({ model: "small", baseUrl: running.url, extraBody: { grammar: NOT_OPENED } });
          const first = await ask(NOT_OPENED, model);
          const second = await ask(NOT_OPENED, model);
          for (const { text, error } of [first, second]) {
            expect(error).toBeNull();
            expect(text).toMatch(/^[A-Z][a-z ]{5,20}\.$/);
          }
          expect(second.streamed).toBe(second.text);
          expect(second.thought.trim()).not.toBe("");
        },
        PATIENCE_MS,
      );
    });
  }
});
