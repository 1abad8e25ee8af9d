import { createInterface } from "node:readline/promises";
import { createParser } from "eventsource-parser";
import { toAppError } from "../errors/app-error.ts";
import { OFFLINE_REMARK } from "../server/service/offline-remark.ts";
import { askInWords, languageOf, type TalkLanguage } from "../turn/ask-in-words.ts";
import type { TurnEvent, Waiting } from "../turn/events.ts";
import { readReply } from "../turn/read-reply.ts";
import { askerOf, linesOf } from "./chat-lines.ts";
import { callService, type RunningService, SERVICE_OPTIONS } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run chat [-- --user ID] [--session ID] [--url URL] [--key KEY]    talks to the running service in the terminal
An agent that asks something is answered with the number of an option, or in your own words.
Ctrl-C stops an answer; Ctrl-D, or Ctrl-C between answers, ends.`;

const HELP = `/new       begins another conversation; what is remembered stays
/memory    shows what is known about you
/quit      ends
/help      shows this`;

const print = (text: string): void => void process.stdout.write(text);

interface Talk extends RunningService {
  user: string;
  session: string;
  conversationId?: string;
}

/** Milliseconds. */
const WAIT_FOR_MEMORY = 3_000;

/** Shows a turn's events to its end or a question. */
async function follow(talk: Talk, address: string, body: object, signal: AbortSignal): Promise<Waiting | null> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const response = await callService(talk, address, { method: "POST", headers, body: JSON.stringify(body), signal });
  const waiting: Waiting[] = [];
  const onEvent = ({ data }: { data: string }): void => {
    const event = JSON.parse(data) as TurnEvent;
    if (event.status === "done") talk.conversationId = event.content.conversation_id;
    if (event.status === "waiting") waiting.push(event.content);
    print(linesOf(event));
  };
  const parser = createParser({ onEvent });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  print("\n");
  return waiting[0] ?? null;
}

/** The next typed line; null: no more come, or the signal says that nobody answers. */
type NextLine = (signal: AbortSignal) => Promise<string | null>;

interface Asking {
  nextLine: NextLine;
  language: TalkLanguage;
  signal: AbortSignal;
}

/** Puts a turn's question, and goes on with the reply. Ends the turn without one, or when only its caller can answer. */
async function answer(talk: Talk, { turn_id: turnId, question }: Waiting, { nextLine, language, signal }: Asking): Promise<Waiting | null> {
  print(`${askerOf(question)}${askInWords(question, language)}\n? `);
  const reply = question.type === "client_tool" ? null : await nextLine(signal);
  if (reply !== null) {
    const body = { question_id: question.id, ...readReply(question, reply) };
    return follow(talk, `/api/v1/turns/${turnId}/answers`, body, signal);
  }
  const headers = { "content-type": "application/json" };
  await callService(talk, `/api/v1/turns/${turnId}/cancel`, { method: "POST", headers, body: "{}" });
  print("\n[stopped]\n");
  return null;
}

/** One turn, token by token, with its questions. Throws when the service cannot be reached or the signal stops it. */
async function ask(talk: Talk, message: string, nextLine: NextLine, signal: AbortSignal): Promise<void> {
  const { user, session } = talk;
  const language = languageOf(message);
  let waiting = await follow(talk, "/api/v1/chat/stream", { user_id: user, session_id: session, message }, signal);
  while (waiting) waiting = await answer(talk, waiting, { nextLine, language, signal });
}

/** Memory is written after the answer: waits for it, three seconds at most. */
async function settle({ conversationId, ...service }: Talk): Promise<void> {
  if (conversationId === undefined) return;
  await callService(service, `/api/v1/conversations/${conversationId}/settle?timeout_ms=${WAIT_FOR_MEMORY}`, { method: "POST" });
}

async function showMemory({ user, ...service }: Talk): Promise<void> {
  const response = await callService(service, `/api/v1/users/${encodeURIComponent(user)}/core-memory`);
  const { sections } = (await response.json()) as { sections: { section: string; content: string }[] };
  const known = sections.filter(({ content }) => content !== "").map(({ section, content }) => `[${section}]\n${content}\n`);
  print(known.length === 0 ? "Nothing is known about you yet.\n" : known.join(""));
}

/** "" when the service cannot be asked: the first message tells why. */
async function remarkOf(service: RunningService): Promise<string> {
  const status = await callService(service, "/api/v1/status").catch(() => null);
  const { models } = ((await status?.json()) ?? {}) as { models?: { chat: string } };
  return models?.chat === "offline" ? `${OFFLINE_REMARK}\n` : "";
}

const options = {
  ...SERVICE_OPTIONS,
  user: { type: "string", default: process.env["USER"] ?? "me" },
  session: { type: "string", default: "terminal" },
} as const;

await runCommand({ usage: USAGE, options }, async ({ values: { url, key, user, session } }) => {
  const talk: Talk = { url, key, user, session };
  print(`Talking to ${url} as ${user} in session ${session}. /help shows what else there is; Ctrl-C stops an answer, Ctrl-D ends.\n`);
  print(await remarkOf(talk));
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " });
  let answering: AbortController | undefined;
  let open = true; // input from a pipe ends before its lines are answered
  terminal.on("SIGINT", () => (answering ? answering.abort() : terminal.close())).on("close", () => (open = false));
  const commands: Readonly<Record<string, () => Promise<void> | void>> = {
    "/help": () => print(`${HELP}\n`),
    "/memory": () => settle(talk).then(() => showMemory(talk)),
    async "/new"() {
      await settle(talk);
      talk.session = `${session}-${new Date().toISOString()}`;
      print(`Session ${talk.session}.\n`);
    },
    "/quit": () => terminal.close(),
  };
  const lines = terminal[Symbol.asyncIterator]();
  let typed = lines.next();
  /** A line for which nobody waits any more is the next one. */
  async function nextLine(signal?: AbortSignal): Promise<string | null> {
    const { promise: stopped, resolve: stop } = Promise.withResolvers<null>();
    signal?.addEventListener("abort", () => stop(null), { once: true });
    const next = await Promise.race([typed, stopped]);
    if (next === null || next.done) return null;
    typed = lines.next();
    return next.value;
  }
  terminal.prompt();
  for (let line = await nextLine(); line !== null; line = await nextLine()) {
    const said = line.trim();
    const controller = new AbortController();
    answering = controller;
    try {
      if (Object.hasOwn(commands, said)) await commands[said]?.();
      else if (/^\/\w+$/.test(said)) print(`There is no command ${said}.\n${HELP}\n`);
      else if (said !== "") await ask(talk, line, nextLine, controller.signal);
    } catch (error) {
      print(controller.signal.aborted ? "\n[stopped]\n" : `[${toAppError(error).message}]\n`);
    }
    answering = undefined;
    if (said === "/quit") break;
    if (open) terminal.prompt();
  }
});
