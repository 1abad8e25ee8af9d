import { createInterface } from "node:readline/promises";
import { createParser } from "eventsource-parser";
import { toAppError } from "../errors/app-error.ts";
import { OFFLINE_REMARK } from "../server/start/offline-remark.ts";
import type { TurnEvent } from "../turn/events.ts";
import { callService, type RunningService, SERVICE_OPTIONS } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run chat [-- --user ID] [--session ID] [--url URL] [--key KEY]    talks to the running service in the terminal
Ctrl-C stops an answer; Ctrl-D, or Ctrl-C between answers, ends.`;

const HELP = `/new       begins another conversation; what is remembered stays
/memory    shows what is known about you
/quit      ends
/help      shows this`;

const print = (text: string): void => void process.stdout.write(text);

function show(event: TurnEvent): void {
  if (event.status === "token") print(event.content);
  if (event.status === "notice") print(`\n[${event.content.message}]\n`);
  if (event.status === "error") print(`\n[${event.content.code}: ${event.content.message}]`);
}

interface Talk extends RunningService {
  user: string;
  session: string;
  /** Of the last turn. */
  conversationId?: string;
}

/** Milliseconds. */
const WAIT_FOR_MEMORY = 3_000;

/** One turn, shown token by token. Throws when the service cannot be reached or the signal stops it. */
async function ask(talk: Talk, message: string, signal: AbortSignal): Promise<void> {
  const { user, session, ...service } = talk;
  const body = JSON.stringify({ user_id: user, session_id: session, message, interactive: false });
  const headers = { "content-type": "application/json" };
  const response = await callService(service, "/api/v1/chat/stream", { method: "POST", headers, body, signal });
  const onEvent = ({ data }: { data: string }): void => {
    const event = JSON.parse(data) as TurnEvent;
    if (event.status === "done") talk.conversationId = event.content.conversation_id;
    show(event);
  };
  const parser = createParser({ onEvent });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  print("\n");
}

/** Memory is written behind the answer: waits until it knows what was said, for three seconds at most. */
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
  let open = true; // input from a pipe ends while the lines before are still being answered
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
  terminal.prompt();
  for await (const line of terminal) {
    const said = line.trim();
    const controller = new AbortController();
    answering = controller;
    try {
      if (Object.hasOwn(commands, said)) await commands[said]?.();
      else if (/^\/\w+$/.test(said)) print(`There is no command ${said}.\n${HELP}\n`);
      else if (said !== "") await ask(talk, line, controller.signal);
    } catch (error) {
      print(controller.signal.aborted ? "\n[stopped]\n" : `[${toAppError(error).message}]\n`);
    }
    answering = undefined;
    if (said === "/quit") break;
    if (open) terminal.prompt();
  }
});
