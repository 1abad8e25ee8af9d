import type { Logger } from "pino";
import { makeConversationStore } from "../stores/postgres/conversation-store.ts";
import { makeMessageStore } from "../stores/postgres/message-store.ts";
import { makeApp } from "./app.ts";
import type { Config } from "./config.ts";
import { checkModelServer, checkPostgres, type DependencyCheck } from "./dependency-checks.ts";
import { closeServer, listen, portOf } from "./listen.ts";
import { openGraph, usesModelServer } from "./open-graph.ts";
import { makeRunningTurns } from "./running-turns.ts";

const OPENAI_URL = "https://api.openai.com/v1";

export interface Service {
  /** Where it listens: http://host:port */
  url: string;
  /** What it uses, for the log. */
  uses: { database: string; model: string; layers: string[] };
  /** Stops letting turns in, lets the running ones finish within SHUTDOWN_GRACE_MS, then closes everything in reverse order. */
  close(): Promise<void>;
}

/** Opens everything the configuration asks for and listens. What was opened is closed again when a later part fails. */
export async function openService(config: Config, log: Logger, { heartbeatMs = 15_000 } = {}): Promise<Service> {
  await using opening = new AsyncDisposableStack();
  const parts = await openGraph(config);
  opening.defer(() => parts.close());
  const { graph, database, knowledge, modelDescription } = parts;

  const running = makeRunningTurns();
  let stopping = false;
  const dependencies: Record<string, DependencyCheck> = { postgres: checkPostgres(database) };
  if (usesModelServer(config)) dependencies["chat_model"] = checkModelServer(config.OPENAI_BASE_URL ?? OPENAI_URL, config.OPENAI_API_KEY);

  const app = makeApp({
    graph,
    knowledge,
    running,
    log,
    heartbeatMs,
    dependencies,
    conversations: makeConversationStore(database),
    messages: makeMessageStore(database),
    apiKeys: config.API_KEYS,
    maxMessageChars: config.MAX_MESSAGE_CHARS,
    isStopping: () => stopping,
  });
  const server = await listen(app, config.PORT, config.HOST);
  opening.defer(() => closeServer(server));
  opening.defer(async () => {
    stopping = true;
    await running.drain(config.SHUTDOWN_GRACE_MS);
  });

  const opened = opening.move();
  const host = config.HOST.includes(":") ? `[${config.HOST}]` : config.HOST;
  return {
    url: `http://${host}:${portOf(server)}`,
    uses: { database: database.description, model: modelDescription, layers: ["window"] },
    close: () => opened.disposeAsync(),
  };
}
