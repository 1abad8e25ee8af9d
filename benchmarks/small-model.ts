import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import OpenAI from "openai";
import { runScript } from "../test/support/run-script.ts";
import { STORIES } from "../test/support/samples/stories.ts";
import { startSmallModelOrEnd } from "./support/small-model.ts";
import { startService } from "./support/start-process.ts";

/*
 * The README's first steps and short stories with a real small model, printed as they went, with what memory held afterwards. For reading:
 * a model this small is often wrong; what it must not do is spoil memory, hang, or leave an error unsaid.
 */

const { SMALL_MODEL: modelFile = "" } = process.env;

/** The English ones; the others are in Chinese. */
const SHORT = 10;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

await using opened = new AsyncDisposableStack();

const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-small-model-"));
opened.defer(() => rm(folder, { recursive: true, force: true }));
const model = await startSmallModelOrEnd({ context: 16_384, slots: 2 });
opened.defer(() => model.stop());
const service = await startService(model.url, { CHAT_MODEL: "small", DATA_DIR: folder, MAX_ANSWER_TOKENS: "200" });
opened.defer(() => service.stop());
const url = service.line;

async function call<Body>(address: string, body?: unknown): Promise<Body> {
  const init = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await (await fetch(`${url}${address}`, init)).json()) as Body;
}

/** Waits until what was said is remembered, or given up. */
async function settle(user: string): Promise<void> {
  const { conversations } = await call<{ conversations: { id: string }[] }>(`/api/v1/conversations?user_id=${encodeURIComponent(user)}`);
  for (const { id } of conversations) {
    const { settled } = await call<{ settled: boolean }>(`/api/v1/conversations/${id}/settle?timeout_ms=300000`, {});
    if (!settled) print("   [its jobs still run after 300 s]");
  }
}

type Say = (user: string, session: string, message: string) => Promise<string>;

const WAYS: readonly (readonly [name: string, say: Say])[] = [
  [
    "HTTP",
    async (user, session, message) => {
      const done = await call<{ answer?: string; cut?: string | null; error?: { code: string; message: string } }>("/api/v1/chat", {
        user_id: user,
        session_id: session,
        message,
      });
      if (done.error) return `[${done.error.code}: ${done.error.message}]`;
      return `${done.answer}${done.cut ? ` [cut: ${done.cut}]` : ""}`;
    },
  ],
  [
    "npm run chat",
    async (user, session, message) => {
      const words = ["--url", url, "--user", user, "--session", session];
      const { stdout, stderr } = await runScript("chat", words, {}, `${message}\n/quit\n`);
      return `${stdout.slice(stdout.indexOf("\n") + 1)}${stderr}`.replace(/^> /, "").trim();
    },
  ],
  [
    "OpenAI's client",
    async (user, session, message) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", defaultHeaders: { "X-Session-Id": session }, maxRetries: 0 });
      const ask = { model: "conversation-graph", user, messages: [{ role: "user" as const, content: message }] };
      return client.chat.completions.create(ask).then(
        ({ choices }) => `${choices[0]?.message.content}${choices[0]?.finish_reason === "length" ? " [cut: length]" : ""}`,
        (error: unknown) => `[${String(error)}]`,
      );
    },
  ],
];

const memoryOf = async (user: string): Promise<string> => {
  const { sections } = await call<{ sections: { content: string }[] }>(`/api/v1/users/${encodeURIComponent(user)}/core-memory`);
  return sections
    .map(({ content }) => content)
    .filter((content) => content !== "")
    .join("; ")
    .replaceAll("\n", "; ");
};

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

interface Told {
  remembered: boolean;
  answered: boolean;
}

async function tell(story: (typeof STORIES)[number], [name, say]: (typeof WAYS)[number], number: number): Promise<Told> {
  const [told, changed, question, holds, holdsNot] = story;
  const user = `story ${number}`;
  print(`\n${number}. by ${name}`);
  for (const message of [told, changed]) {
    print(`   > ${message}\n   < ${oneLine(await say(user, "monday", message))}`);
    await settle(user);
  }
  const memory = await memoryOf(user);
  const answer = oneLine(await say(user, "friday", question));
  const remembered = memory.includes(holds);
  const answered = answer.includes(holds) && !answer.includes(holdsNot);
  print(`   memory: ${memory || "nothing"}${remembered ? "" : `  <-- not "${holds}"`}`);
  print(`   in another session > ${question}\n   < ${answer}${answered ? "" : `  <-- not "${holds}" alone`}`);
  return { remembered, answered };
}

/** The README's first example, as it stands there. */
async function followReadme(): Promise<void> {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const bodies = [...readme.matchAll(/-d '(\{"user_id":"ada"[^']*)'/g)].map(([, body = ""]) => JSON.parse(body) as Record<string, string>);
  print("README");
  for (const { user_id: user = "", session_id: session = "", message = "" } of bodies) {
    print(`   > ${message}\n   < ${oneLine((await WAYS[0]?.[1](user, session, message)) ?? "")}`);
    await settle(user);
  }
  print(`   memory: ${await memoryOf("ada")}`);
}

print(`${path.basename(modelFile)} behind ${url}`);
await followReadme();
const results: Told[] = [];
for (const [index, story] of STORIES.slice(0, Number(process.argv[2] ?? SHORT)).entries()) {
  const way = WAYS[index % WAYS.length];
  if (way) results.push(await tell(story, way, index + 1));
}
const count = (key: keyof Told): number => results.filter((told) => told[key]).length;
print(
  `\nOf ${results.length} stories core memory held the new truth in ${count("remembered")}, and the answer held it alone in ${count("answered")}.`,
);
const status = await call<Record<string, unknown>>("/api/v1/status");
const { dead } = await call<{ dead: { kind: string; error: { message: string } }[] }>("/api/v1/jobs");
print(`/api/v1/status says: ${JSON.stringify(status["unfit_models"] ?? status)}`);
for (const { kind, error } of dead) print(`dead job: ${kind}: ${error.message}`);
