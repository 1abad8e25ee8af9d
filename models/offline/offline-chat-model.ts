import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel, type BaseChatModelCallOptions, type BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { readFences } from "../../text/fence.ts";
import { lexicalQuery, lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { asks, tellsOfOneself } from "../../text/telling-or-asking.ts";
import { WISHES } from "../../turn/state.ts";
import { answersOf, isContradicted, linesAfter } from "./decide-sections.ts";
import { readMessage, tellsChange } from "./read-message.ts";
import { weightOf } from "./hashed-embedder.ts";
import { type OfferedTool, type OfflineCall, offlineCalls } from "./offline-calls.ts";

/** The label of an earlier exchange, or of an archived memory. */
const ASKED = /^\[\d{4}-\d\d-\d\d\] (?:User|Noted):$/u;
/** The label of a passage: its number and its title. */
const PASSAGE = /^\[(\d+)\] (.*)$/u;

/** A question for all of core memory. */
const ABOUT_ME = /\bwhat do you (?:know|remember) about me\b|[知记][道得](?:关于)?我的?(?:哪些|什么)/iu;

type Saying = readonly [english: string, chinese: string];
const HELLO: Saying = ["This is the offline model.", "我是离线模型（offline model）。"];
const TOLD: Saying = [
  "The offline model has read this; ask a question to see what is remembered.",
  "离线模型（offline model）读到了；提个问题，看看记住了什么。",
];
const NOTHING: Saying = [
  "The offline model found nothing about this in what it was given.",
  "离线模型（offline model）在收到的内容里没有找到与此有关的话。",
];

/** It never stops in the middle. */
const ALL: Saying = [" The offline model has nothing to add.", "离线模型（offline model）没有要补充的了。"];

/** Weak words: "Likes tea" answers "What tea do I like?" by its tea. */
const LIKING = new Set(lexicalText("like love enjoy dislike hate 喜欢爱").split(" "));
/** Core memory and documents lead over people's words, which resemble their questions. */
const LEAD = 2;
const PAIR = /^\p{Script=Han}{2}$/u;

/** Chinese counts as characters, not pairs: 猫叫 and 猫现在叫. */
const wordsOf = (lexical: string): Set<string> => new Set(lexical.split(" ").filter((word) => word !== "" && !PAIR.test(word)));

/** Zero for less than a third of the question, and less than a word. */
function makeScore(question: string): (text: string) => number {
  const asked = new Map([...wordsOf(lexicalQuery(question))].map((word) => [word, weightOf(word) * (LIKING.has(word) ? 0.5 : 1)]));
  const sum = (words: Iterable<string>): number => [...words].reduce((total, word) => total + (asked.get(word) ?? 0), 0);
  const least = Math.min(1, sum(asked.keys()) / 3);
  return (text) => {
    const score = sum(wordsOf(lexicalText(text)));
    return score < least ? 0 : score;
  };
}

/** The question; after results of tools the service may ask for an answer now. */
const placeOfQuestion = (prompt: readonly BaseMessage[]): number =>
  prompt.findLastIndex(({ type }, index) => type === "human" && prompt[index - 1]?.type !== "tool");
const askedIn = (prompt: readonly BaseMessage[]): string => prompt[placeOfQuestion(prompt)]?.text ?? "";
const resultsIn = (prompt: readonly BaseMessage[]): BaseMessage[] =>
  prompt.slice(placeOfQuestion(prompt) + 1).filter(({ type }) => type === "tool");

function findAnswer(prompt: readonly BaseMessage[]): Saying {
  if (prompt.at(-1)?.type === "ai") return ALL;
  const { rest: question, fences: recalled } = readFences(askedIn(prompt));
  if (isSmallTalk(question)) return HELLO;
  if (tellsOfOneself(question) || (!asks(question) && readMessage(question).length > 0)) return TOLD;
  const earlier = prompt.slice(0, placeOfQuestion(prompt));
  const fences = [...earlier.flatMap(({ type, text }) => (type === "system" ? readFences(text).fences : [])), ...recalled];
  const remembered = (wanted: string): { label: string; text: string }[] => {
    const pieces = fences.flatMap((fence) => (fence.tag === wanted ? fence.pieces : []));
    return pieces.flatMap(({ label = "", text }) => splitSentences(text).map((sentence) => ({ label, text: sentence })));
  };
  const scoreOf = makeScore(question);
  const known = [
    ...remembered("core_memory").map(({ label, text }) => ({ section: label.slice(1, -1), text })),
    ...remembered("user_wishes").map(({ text }) => ({ section: WISHES, text })),
  ];
  const typed = earlier.flatMap(({ type, text }) => (type === "human" ? [text] : []));
  /** Core memory is late, so changes in the window go first. A user who only says a thing may have corrected core memory since. */
  const lines = linesAfter(known, known.length === 0 ? typed : typed.filter(tellsChange));
  const knows = (text: string): Saying => [`What I know about you: "${text}"`, `关于你，我知道：“${text}”`];
  if (ABOUT_ME.test(question) && lines.length > 0) return knows(lines.map(({ text }) => text).join(" "));
  const said = [
    ...remembered("earlier_exchanges").flatMap(({ label, text }) => (ASKED.test(label) ? [text] : [])),
    ...typed.flatMap(splitSentences),
  ];
  /** The last of equals is quoted. */
  const quoted = (text: string): Saying => [`You said earlier: "${text}"`, `你之前说过：“${text}”`];
  const quotes: { score: number; says: Saying }[] = [
    ...said.map((text) => ({ score: asks(text) || isContradicted(text, lines) ? 0 : scoreOf(text), says: quoted(text) })),
    ...remembered("passages")
      .toReversed()
      .map(({ label, text }) => {
        const [, number, title] = PASSAGE.exec(label) ?? [];
        return {
          score: LEAD * scoreOf(text),
          says: [`"${title}" says: "${text}" [${number}]`, `《${title}》中写道：“${text}” [${number}]`] as const,
        };
      }),
    ...lines.map((line) => {
      const { isAsked, words } = answersOf(question, line);
      const isLine = ({ section, text }: { section: string; text: string }): boolean => section === line.section && text === line.text;
      if (known.some(isLine)) {
        return { score: isAsked ? Infinity : LEAD * scoreOf(words), says: knows(line.text) };
      }
      const told = typed.flatMap(splitSentences).findLast((text) => linesAfter(known, [text]).some(isLine)); // what taught it
      return { score: isAsked ? Infinity : 0, says: quoted(told ?? line.text) };
    }),
  ];
  return quotes.reduce((best, quote) => (quote.score > 0 && quote.score >= best.score ? quote : best), { score: 0, says: NOTHING }).says;
}

const LONGEST_QUOTE = 300;

/** Their results say nothing for people. */
const SILENT = new Set(["todo_write", "load_skill", "handoff_to"]);

/** The agent that a result is of, else the tool. */
function speakerOf(result: BaseMessage, prompt: readonly BaseMessage[]): string {
  const call = prompt.flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [])).find(isOf(result));
  return call?.name === "ask_agent" ? String(call.args["agent"]) : (result.name ?? "");
}

const isOf =
  (result: BaseMessage) =>
  ({ id }: { id?: string | undefined }): boolean =>
    ToolMessage.isInstance(result) && id === result.tool_call_id;

/** A result in one line. */
function quoteResult(result: BaseMessage, prompt: readonly BaseMessage[], isChinese: boolean): string[] {
  const { name, text } = result;
  if (SILENT.has(name ?? "")) return [];
  const { fences, rest } = readFences(text);
  const said = fences.flatMap(({ pieces }) => pieces.map((piece) => piece.text)).join(" ") || rest;
  const line = said.replaceAll(/\s+/gu, " ").slice(0, LONGEST_QUOTE).toWellFormed();
  const speaker = speakerOf(result, prompt);
  return [isChinese ? `${speaker} 返回：“${line}”` : `${speaker} says: "${line}"`];
}

/** The tools' results, and one sentence from core memory, a document or the user's own words about the question, in its language. */
export function offlineAnswer(prompt: readonly BaseMessage[]): string {
  const isChinese = /\p{Script=Han}/u.test(readFences(askedIn(prompt)).rest);
  const results = resultsIn(prompt).flatMap((result) => quoteResult(result, prompt, isChinese));
  const saying = findAnswer(prompt);
  return [...results, ...(results.length > 0 && (saying === NOTHING || saying === TOLD) ? [] : [saying[isChinese ? 1 : 0]])].join("\n");
}

/** The first call without a result. Another agent, which handed the turn on, may have made other calls before. */
function nextCall(prompt: readonly BaseMessage[], tools: readonly OfferedTool[] | undefined): OfflineCall | undefined {
  if (!tools || prompt.at(-1)?.type === "ai") return undefined;
  const { rest: message } = readFences(askedIn(prompt));
  const calls = offlineCalls(prompt, message, tools);
  return calls[resultsIn(prompt).filter(({ name }) => calls.some((call) => call.name === name)).length];
}

/** A word with the space after it, or one Chinese character. */
const TOKEN = /\p{Script=Han}|[^\p{Script=Han}\s]+\s*|\s+/gu;

export interface OfflineCallOptions extends BaseChatModelCallOptions {
  tools?: OfferedTool[];
}

/** A chat model without a model: deterministic, in process, calls tools by rules and quotes its prompt. */
export class OfflineChatModel extends BaseChatModel<OfflineCallOptions> {
  constructor() {
    super({});
  }

  override _llmType(): string {
    return "offline";
  }

  override bindTools(tools: BindToolsInput[]): ReturnType<NonNullable<BaseChatModel<OfflineCallOptions>["bindTools"]>> {
    return this.withConfig({ tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  override async _generate(messages: BaseMessage[], { tools }: this["ParsedCallOptions"]): Promise<ChatResult> {
    const call = nextCall(messages, tools);
    const text = call ? "" : offlineAnswer(messages);
    const message = new AIMessage({
      content: text,
      tool_calls: call ? [{ name: call.name, args: call.arguments, type: "tool_call" }] : [],
      response_metadata: { finish_reason: call ? "tool_calls" : "stop" },
    });
    return { generations: [{ text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    { tools }: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const call = nextCall(messages, tools);
    if (call) {
      const tool_call_chunks = [{ name: call.name, args: JSON.stringify(call.arguments), index: 0, type: "tool_call_chunk" as const }];
      const message = new AIMessageChunk({ content: "", tool_call_chunks });
      yield new ChatGenerationChunk({ text: "", message, generationInfo: { finish_reason: "tool_calls" } });
      return;
    }
    for (const [text] of offlineAnswer(messages).matchAll(TOKEN)) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      await runManager?.handleLLMNewToken(text);
    }
    yield new ChatGenerationChunk({ text: "", message: new AIMessageChunk(""), generationInfo: { finish_reason: "stop" } });
  }
}
