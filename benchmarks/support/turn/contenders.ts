import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { ChatOpenAI } from "@langchain/openai";
import { allJobsDone, questionOf, seedKnowledge, seedUsers, settleAll } from "../service/memory-users.ts";
import { type MeasuredProcess, startService } from "../start-process.ts";
import { readStream, type StreamTimes } from "../read-stream.ts";
import { type LayersAtWork, makeLayersAtWork, startMemoryService } from "../service/memory-service.ts";

export interface Contender {
  name: string;
  turn(session: string, message: string): Promise<StreamTimes>;
  cpuMs(): number;
  settle?(): Promise<void>;
  service?: MeasuredProcess;
  close(): Promise<void>;
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const nothingToClose = async (): Promise<void> => undefined;

export function rawFetch(modelUrl: string): Contender {
  const turn = (_session: string, content: string): Promise<StreamTimes> =>
    readStream(`${modelUrl}/chat/completions`, {
      model: "bench",
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: "user", content }],
    });
  return { name: "raw fetch", turn, cpuMs: ownCpuMs, close: nothingToClose };
}

async function timed(answer: AsyncIterable<unknown>, isToken: (chunk: unknown) => boolean): Promise<StreamTimes> {
  const began = performance.now();
  let firstTokenMs = Number.NaN;
  for await (const chunk of answer) if (Number.isNaN(firstTokenMs) && isToken(chunk)) firstTokenMs = performance.now() - began;
  return { firstTokenMs, totalMs: performance.now() - began };
}

/** LangChain's own, without this project. */
const langChainModel = (baseURL: string): ChatOpenAI =>
  new ChatOpenAI({ model: "bench", apiKey: "none", maxRetries: 0, configuration: { baseURL } });

export function chatOpenAI(modelUrl: string): Contender {
  const model = langChainModel(modelUrl);
  async function* answer(message: string): AsyncGenerator<BaseMessage> {
    yield* await model.stream([new HumanMessage(message)]);
  }
  return {
    name: "ChatOpenAI.stream",
    turn: (_session, message) => timed(answer(message), (chunk) => (chunk as BaseMessage).text !== ""),
    cpuMs: ownCpuMs,
    close: nothingToClose,
  };
}

function oneNodeGraph(model: ChatOpenAI) {
  const State = new StateSchema({ messages: MessagesValue });
  return new StateGraph(State)
    .addNode("answer", async ({ messages }, { writer }) => {
      let text = "";
      for await (const chunk of await model.stream(messages)) {
        text += chunk.text;
        if (chunk.text) writer?.(chunk.text);
      }
      return { messages: [{ role: "assistant", content: text }] };
    })
    .addEdge(START, "answer")
    .addEdge("answer", END);
}

function graphContender(name: string, modelUrl: string, saver: PostgresSaver | undefined): Contender {
  const graph = oneNodeGraph(langChainModel(modelUrl)).compile(saver ? { checkpointer: saver } : {});
  async function* answer(session: string, message: string): AsyncGenerator<unknown> {
    yield* await graph.stream(
      { messages: [{ role: "user", content: message }] },
      { streamMode: "custom", configurable: { thread_id: session } },
    );
  }
  return {
    name,
    turn: (session, message) => timed(answer(session, message), () => true),
    cpuMs: ownCpuMs,
    close: async () => saver?.end(),
  };
}

export function oneNode(modelUrl: string): Contender {
  return graphContender("one-node LangGraph", modelUrl, undefined);
}

export async function oneNodeWithSaver(modelUrl: string, databaseUrl: string): Promise<Contender> {
  const saver = PostgresSaver.fromConnString(databaseUrl);
  await saver.setup();
  return graphContender("one-node LangGraph, PostgresSaver", modelUrl, saver);
}

export async function thisService(name: string, modelUrl: string, environment: Record<string, string>, folder?: string) {
  const service = await startService(modelUrl, environment, folder);
  const turn = (session: string, message: string): Promise<StreamTimes> =>
    readStream(`${service.line}/api/v1/chat/stream`, { user_id: session, session_id: session, message });
  const settle = (): Promise<void> => allJobsDone(service.line).then(() => undefined);
  return { name, url: service.line, turn, settle, service, cpuMs: () => service.cpuMs(), close: () => service.stop() };
}

/** Enough that simultaneous streams have different users, and no history grows much. */
const USERS = 50;
const EXCHANGES = 20;

/** Starts this service with users whose prompts have every layer: history, core memory, documents. */
export async function everyLayer(
  name: string,
  modelUrl: string,
  environment: Record<string, string>,
  folder?: string,
): Promise<Contender & { layers: LayersAtWork; url: string }> {
  const service = await startMemoryService(name, modelUrl, environment, folder);
  await seedKnowledge(service.url);
  await seedUsers(service.url, { prefix: "turn", count: USERS, exchanges: EXCHANGES });
  await allJobsDone(service.url);
  const layers = makeLayersAtWork();
  const userOf = new Map<string, number>();
  let asked = 0;
  const unsettled = new Set<string>();
  return {
    name,
    layers,
    url: service.url,
    service: service.process,
    async turn(session) {
      const number = userOf.get(session) ?? userOf.size % USERS;
      userOf.set(session, number);
      const { user, session: own, message } = questionOf("turn", number, asked);
      const { result, ...times } = await service.ask({ user, session: own, message: `${message} (${asked++})` });
      layers.count(result);
      unsettled.add(result.conversation_id);
      return times;
    },
    cpuMs: () => service.process.cpuMs(),
    async settle() {
      await settleAll(service.url, unsettled);
      unsettled.clear();
    },
    close: () => service.process.stop(),
  };
}
