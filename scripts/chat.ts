import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { createParser } from "eventsource-parser";
import type { TurnEvent } from "../turn/events.ts";

const { values } = parseArgs({
  options: {
    url: { type: "string", default: `http://127.0.0.1:${process.env["PORT"] ?? "8000"}` },
    user: { type: "string", default: process.env["USER"] ?? "me" },
    session: { type: "string", default: "terminal" },
    key: { type: "string" },
  },
});

function show(event: TurnEvent): void {
  if (event.status === "token") process.stdout.write(event.content);
  if (event.status === "notice") process.stdout.write(`\n[${event.content.message}]\n`);
  if (event.status === "error") process.stdout.write(`\n[${event.content.code}: ${event.content.message}]`);
}

/** One turn, shown token by token. Throws when the service cannot be reached or the signal stops it. */
async function ask(message: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(`${values.url}/api/v1/chat/stream`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(values.key ? { authorization: `Bearer ${values.key}` } : {}) },
    body: JSON.stringify({ user_id: values.user, session_id: values.session, message }),
    signal,
  });
  if (!response.ok || !response.body) {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    process.stdout.write(`[${error.code}: ${error.message}]\n`);
    return;
  }
  const parser = createParser({ onEvent: ({ data }) => show(JSON.parse(data) as TurnEvent) });
  const decoder = new TextDecoder();
  for await (const chunk of response.body) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  process.stdout.write("\n");
}

const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " });
let answering: AbortController | undefined;
let open = true; // input from a pipe ends while the lines before are still being answered
terminal.on("SIGINT", () => (answering ? answering.abort() : terminal.close())).on("close", () => (open = false));
process.stdout.write(`Talking to ${values.url} as ${values.user} in session ${values.session}. Ctrl-C stops an answer, Ctrl-D ends.\n`);
terminal.prompt();
for await (const line of terminal) {
  if (line.trim()) {
    answering = new AbortController();
    await ask(line, answering.signal).catch((error: unknown) => {
      const stopped = answering?.signal.aborted;
      process.stdout.write(
        stopped ? "\n[stopped]\n" : `[${values.url} does not answer. Start the service with npm start. ${String(error)}]\n`,
      );
    });
    answering = undefined;
  }
  if (open) terminal.prompt();
}
