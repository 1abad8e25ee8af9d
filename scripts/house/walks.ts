import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startModelServer } from "../../test/servers/model-server.ts";
import { freePort } from "../../test/servers/free-port.ts";

/** The files of each walk, in the order of their first calls. */
export type Walks = Readonly<Record<WalkName, string[]>>;
export type WalkName = "turn" | "model" | "tool" | "erase" | "document" | "langgraph";

/** What every walk crosses: middleware, the wires of the database, pure functions. */
const CROSSED =
  /^(?:server\/(?:http|auth|limits|observe|models|settings|start|service|parts|openapi)|stores\/postgres\/database|observe|errors|text|turn)\//;
const SEARCHING = /^(?:memory\/(?:recall|episodes)|stores\/search|models\/(?:offline|embedder))/;
const IDLE_MS = 4_000;
/** Jobs that wait for their next time, or for an erase's second look. */
const LASTING: ReadonlySet<string> = new Set(["erase_unused", "erase_episodes", "vacuum"]);
const USER = "a reader";

const ANSWER = { tokens: ["You ", "live ", "in ", "Lisbon [1]."] };

/** Runs the service from its sources and records which files work on each walk. */
export async function traceWalks(): Promise<Walks> {
  const folder = await mkdtemp(path.join(tmpdir(), "walks-"));
  const log = path.join(folder, "files.log");
  await writeFile(log, "");
  const model = await startModelServer();
  const port = await freePort();
  const service = spawn(process.execPath, ["--import", path.join(import.meta.dirname, "record-files.ts"), "server/main.ts"], {
    env: {
      ...process.env,
      WALK_LOG: log,
      PORT: String(port),
      DATA_DIR: path.join(folder, "data"),
      OPENAI_BASE_URL: model.url,
      CHAT_MODEL: "test-chat",
      EMBEDDING_MODEL: "built-in",
      LOG_LEVEL: "warn",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}`;
  const send = async (method: string, route: string, body?: unknown, type = "application/json"): Promise<string> => {
    const response = await fetch(`${url}${route}`, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": type }, body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
    return text;
  };
  const settle = async (): Promise<void> => {
    const busy = async (): Promise<boolean> => {
      const { jobs } = JSON.parse(await send("GET", "/api/v1/jobs")) as { jobs: { kind: string; state: string; count: number }[] };
      return jobs.some(({ kind, state, count }) => count > 0 && state !== "dead" && !LASTING.has(kind));
    };
    while (await busy()) await sleep(200);
  };
  /** Waits first for the jobs of what came before: on a busy machine they would run in this walk. */
  const record = async (walk: () => Promise<unknown>): Promise<string[]> => {
    await settle();
    await truncate(log);
    await walk();
    return [...new Set((await readFile(log, "utf8")).split("\n"))].filter((file) => file !== "" && !CROSSED.test(file));
  };
  const chat = (session: string, message: string, more: object = {}): Promise<string> =>
    send("POST", "/api/v1/chat/stream", { user_id: USER, session_id: session, message, ...more });
  try {
    for (;;) {
      if (service.exitCode !== null) throw new Error("the service has ended");
      if (
        await fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
      )
        break;
      await sleep(100);
    }
    model.answer(() => ANSWER);
    await chat("first", "I live in Lisbon.");
    await sleep(IDLE_MS);
    const idle = new Set(await record(() => sleep(IDLE_MS)));
    const walk = async (run: () => Promise<unknown>): Promise<string[]> => (await record(run)).filter((file) => !idle.has(file));

    const turn = await walk(() => chat("first", "Where do I live?"));
    const thread = JSON.parse(await send("POST", "/langgraph/threads", { metadata: { user_id: "somebody else" } })) as {
      thread_id: string;
    };
    const input = { messages: [{ role: "user", content: "Where do I live?" }] };
    const run = { assistant_id: "conversation", input, stream_mode: ["values", "messages-tuple"] };
    const langgraph = await walk(() => send("POST", `/langgraph/threads/${thread.thread_id}/runs/stream`, run));

    await send("PUT", "/api/v1/agents/clerk", {
      description: "Tells the time.",
      tools: ["current_time"],
      permissions: [{ tool: "current_time", action: "ask" }],
    });
    model.answer(({ messages }) =>
      messages.at(-1)?.role === "tool" ? ANSWER : { toolCalls: [{ name: "current_time", arguments: { time_zone: "UTC" } }] },
    );
    const tool = await walk(async () => {
      const asked = await chat("first", "What time is it?", { agent: "clerk" });
      const waiting = asked.split("\n").find((line) => line.includes('"waiting"')) ?? "";
      const { turn_id: id, question } = (
        JSON.parse(waiting.slice("data: ".length)) as { content: { turn_id: string; question: { id: string } } }
      ).content;
      await send("POST", `/api/v1/turns/${id}/answers`, { question_id: question.id, answer: "allow_once" });
      await send("GET", `/api/v1/turns/${id}/stream`);
    });

    model.answer(() => ANSWER);
    await send("PUT", "/api/v1/knowledge/boats", { description: "Boats and masts." });
    await settle();
    const document = await record(async () => {
      const file = "# Masts\n\nA ketch has two masts, the mainmast and the shorter mizzen.";
      await send("POST", "/api/v1/knowledge/boats/documents?title=Masts", file, "text/markdown");
      await settle();
      await chat("first", "How many masts has a ketch?", { kb_prefix: "boats" });
    });
    const erase = await walk(async () => {
      await send("DELETE", `/api/v1/users/${encodeURIComponent(USER)}`);
      await settle();
    });
    const besides = (files: readonly string[]): string[] => files.filter((file) => !turn.includes(file) && !idle.has(file));
    /** Whether a turn searches depends on its user. The document's walk has it. */
    const withoutSearch = (files: readonly string[]): string[] => besides(files).filter((file) => !SEARCHING.test(file));
    const isOfModel = (file: string): boolean => file.startsWith("models/");
    return {
      turn: turn.filter((file) => !isOfModel(file)),
      model: turn.filter(isOfModel),
      tool: withoutSearch(tool),
      erase,
      document: besides(document),
      langgraph: withoutSearch(langgraph),
    };
  } finally {
    service.kill("SIGTERM");
    await once(service, "exit").catch(() => undefined);
    await model.close();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main)
  for (const [name, files] of Object.entries(await traceWalks())) console.log(`${name} ${files.length}\n  ${files.join("\n  ")}`);
