import type { Logger } from "pino";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";
import { waitUntilSettled } from "../../memory/jobs/wait-until-settled.ts";
import { ASSUMED_CONTEXT } from "../../models/facts/model-facts.ts";
import type { KnowledgeHandlers } from "../../nodes/generate-kb.ts";
import { IN_MEMORY } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { QUESTION_CHANNEL } from "../../stores/postgres/turns/question-rows.ts";
import { CANCEL_CHANNEL } from "../../stores/postgres/turns/turn-record-store.ts";
import { ANYBODY } from "../auth/caller.ts";
import { makeVerifyToken } from "../auth/verify-token.ts";
import { makeApp } from "./app.ts";
import { makeIdleDetector } from "../http/idle-detector.ts";
import { makeReadLargeJson } from "../http/read-body.ts";
import { closeServer, CONNECTION_LIMITS, type ConnectionLimits, listen, portOf } from "../http/listen.ts";
import { openLimits } from "../limits/open-limits.ts";
import { checkModelServer, checkPostgres, type HealthChecks, withTimeout } from "../observe/health.ts";
import { openObserving } from "../observe/open-observing.ts";
import { parseChatRequest } from "../turns/chat-request.ts";
import { makeTurns } from "../turns/open-turn.ts";
import type { Config } from "../settings/config.ts";
import type { McpOptions } from "../parts/open-mcp.ts";
import { failureFacts } from "./failure-facts.ts";
import type { Service } from "./service.ts";
import type { AgentExtras } from "../parts/open-agents.ts";
import { writeServiceUrl } from "./service-url.ts";
import { openGraph, type OpenGraph } from "./open-graph.ts";
import { modelServer, usesEmbeddingServer } from "../parts/open-models.ts";

export interface ServiceOptions {
  /** Milliseconds. */
  heartbeatMs?: number;
  handlers?: KnowledgeHandlers;
  extras?: AgentExtras;
  mcp?: McpOptions;
  connectionLimits?: Partial<ConnectionLimits>;
}

function logRun(log: Logger, { kind, outcome, ms, error }: JobRun, config: Config): void {
  const then = outcome === "failed" ? "it will be tried again" : "but nothing of its work is left to do";
  if (error) log.warn({ kind, ms, ...failureFacts(error, config, kind) }, `job failed, ${then}`);
  else log.debug({ kind, outcome, ms }, "job ran");
}

function makeHealth(config: Config, { stores, models, memory }: OpenGraph, isStopping: () => boolean): HealthChecks {
  const { episodes } = memory;
  const chatModel = models.server && checkModelServer(models.server);
  const embedder =
    models.embeddingServer &&
    checkModelServer(models.embeddingServer, async (signal) => episodes?.memory.embedder.embedPassages(["."], signal));
  const others = Object.entries(models.otherServers).map(([task, server]) => [`${task}_model`, checkModelServer(server)] as const);
  return {
    dependencies: {
      postgres: checkPostgres(stores.database, config.DATA_DIR),
    },
    answerDependencies: chatModel ? { chat_model: chatModel } : {},
    optionalDependencies: {
      ...Object.fromEntries(others),
      ...(episodes ? { ...(embedder ? { embedder } : {}), episode_index: withTimeout(() => episodes.store.check()) } : {}),
    },
    isStopping,
    dataFolder: stores.database.isEmbedded && !config.DATA_DIR.startsWith(IN_MEMORY) ? config.DATA_DIR : null,
  };
}

function describeIndex({ store, level }: NonNullable<OpenGraph["memory"]["episodes"]>): string {
  return level === store.level ? store.description : `${store.description}, which the index does not use before \`npm run reindex\``;
}

function describeUse(config: Config, { stores, models, memory: { episodes } }: OpenGraph): OpenApp["uses"] {
  const layers = [
    "window",
    ...(config.ENABLE_SUMMARY ? ["summary"] : []),
    ...(config.ENABLE_CORE_MEMORY ? ["core memory"] : []),
    ...(config.KB_HANDLERS !== undefined && config.ENABLE_KB_HANDLERS ? [`handlers of ${config.KB_HANDLERS}`] : []),
    ...(episodes ? [`episodic (${episodes.memory.embedder.name}, ${describeIndex(episodes)})`] : []),
  ];
  return { database: stores.database.description, model: models.description, layers };
}

interface OpenApp extends Service {
  /** For the log. */
  uses: { database: string; model: string; layers: string[] };
  /** Refuses new turns, and lets running ones finish within SHUTDOWN_GRACE_MS. */
  drain(): Promise<void>;
}

const SETTLE_MS = 30_000;

/** If a part fails, the earlier ones are closed. */
export async function openApp(
  config: Config,
  log: Logger,
  { heartbeatMs = 15_000, handlers, extras, mcp }: ServiceOptions = {},
): Promise<OpenApp> {
  const warn =
    (message: string) =>
    (error: unknown, work?: string): void =>
      log.warn({ ...(work === undefined ? {} : { work }), ...failureFacts(toAppError(error), config) }, message);
  await using opening = new AsyncDisposableStack();

  const observing = await openObserving(config, log, {
    chat: modelServer(config, "chat") ? "openai" : "built-in",
    embeddings: usesEmbeddingServer(config) ? "openai" : "built-in",
  });
  opening.defer(() => observing.close());
  const { metrics, observer } = observing;

  const idle = makeIdleDetector();
  const opened = await openGraph(config, {
    observer,
    onRun(run) {
      metrics.jobRan(run);
      logRun(log, run, config);
    },
    handlers,
    extras,
    mcp,
    whenQuiet: () => idle.whenIdle(),
    quietMs: () => idle.idleMs(),
    onError: warn("background work failed, it is tried again"),
    onUnmet: (agent, problem) => log.warn({ agent, problem }, "an agent names something that is not there"),
    onModelAssumed: (model) =>
      log.warn(
        { model, context_window: ASSUMED_CONTEXT },
        "nobody knows how much the model takes: say so in MODEL_PROFILES, or set CONTEXT_TOKEN_BUDGET",
      ),
  });
  opening.defer(() => opened.close());
  const { database } = opened.stores;

  const limits = openLimits(
    config,
    { ...opened.stores, meter: opened.meter },
    {
      onError: warn("used tokens are not written yet, it will be tried again"),
      onRefused: (why) => metrics.turnRefused(why),
    },
  );
  metrics.watchLag(limits.lagMs);
  opening.defer(() => limits.close());

  const onWaitingError = warn("waiting turns could not be looked at, it will be tried again");
  const turns = makeTurns({ ...opened, limits, observing, log, leaseMs: config.TURN_LEASE_MS, onWaitingError });
  const { registry } = turns;
  // The turn notices a lost notification when it renews its lease.
  const onNotification = (turnId: string): void => registry.find(turnId)?.turn.cancel();
  opening.defer(await database.listen(CANCEL_CHANNEL, { onNotification, onConnect: () => undefined }));
  const { waiting } = turns;
  opening.defer(() => waiting.stop());
  const onQuestion = (dueInMs: string): void => waiting.lookIn(Number(dueInMs));
  opening.defer(await database.listen(QUESTION_CHANNEL, { onNotification: onQuestion, onConnect: () => waiting.lookIn(0) }));

  let stopping = false;
  const verifyToken = makeVerifyToken(config, warn("the keys of JWT_JWKS_URL are not refreshed"));
  const app = makeApp({
    ...opened,
    config,
    turns,
    limits,
    observing,
    identity: { apiKeys: config.API_KEYS, verifyToken },
    health: makeHealth(config, opened, () => stopping),
    idle,
    readLargeJson: makeReadLargeJson(),
    heartbeatMs,
    log,
  });
  const drain = async (): Promise<void> => {
    stopping = true;
    await waiting.stop();
    await registry.drain(config.SHUTDOWN_GRACE_MS);
  };
  opening.defer(drain);
  const everything = opening.move();
  return {
    graph: opened.graph,
    app,
    async ask(input) {
      const { userId: user_id, sessionId: session_id, message, instructions } = input;
      parseChatRequest({ user_id, session_id, message, instructions }, config.MAX_MESSAGE_CHARS);
      const turn = await turns.start({ tenantId: ANYBODY.tenantId, ...input, interactive: false }, { onBusy: "enqueue" });
      const { status, content } = await turn.ended;
      if (status === "error") throw AppError.fromContent(content);
      if (status === "waiting") throw new Error("a turn that asks nobody waits");
      return content;
    },
    async settle(conversation) {
      const owned = { tenantId: ANYBODY.tenantId, ...conversation };
      return (await waitUntilSettled({ overview: opened.stores.jobs, conversation: owned, timeoutMs: SETTLE_MS })) === 0;
    },
    uses: describeUse(config, opened),
    drain,
    close: () => everything.disposeAsync(),
  };
}

export async function serve(config: Config, log: Logger, options: ServiceOptions = {}) {
  await using opening = new AsyncDisposableStack();
  const service = await openApp(config, log, options);
  opening.defer(() => service.close());
  const server = await listen(service.app, config.PORT, config.HOST, { ...CONNECTION_LIMITS, ...options.connectionLimits });
  opening.defer(() => closeServer(server));
  opening.defer(() => service.drain());
  const host = config.HOST.includes(":") ? `[${config.HOST}]` : config.HOST;
  const url = `http://${host}:${portOf(server)}`;
  opening.defer(await writeServiceUrl(config, url));
  const everything = opening.move();
  return { url, uses: service.uses, close: () => everything.disposeAsync() };
}
