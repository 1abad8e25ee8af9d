import { postJson } from "../../../test/support/clients/api-client.ts";
import type { TurnResult } from "../../../turn/events.ts";
import { type MeasuredProcess, MODEL_AT_ONCE, startService } from "../start-process.ts";
import { readStream, type StreamTimes } from "../read-stream.ts";

/** The times of a turn as a client sees them, and its event `done`. */
export interface AskedTurn extends StreamTimes {
  result: TurnResult;
}

/** The message of one turn, and whose it is. */
export interface Asked {
  user: string;
  session: string;
  message: string;
}

/** This service in a process of its own with every layer of memory on, called over HTTP. */
export interface MemoryService {
  /** Its name in the results. */
  name: string;
  url: string;
  process: MeasuredProcess;
  /** Milliseconds from its start to its listening. */
  startMs: number;
  ask(asked: Asked): Promise<AskedTurn>;
}

/** The path of a turn behind the address of a service, and its body. */
const TURN = "/api/v1/chat/stream";
const bodyOf = ({ user, session, message }: Asked): object => ({ user_id: user, session_id: session, message });

/** Has a turn with the service at this address. Throws when the answer is not whole. */
export async function askService(url: string, asked: Asked): Promise<AskedTurn> {
  const { last, ...times } = await readStream(url + TURN, bodyOf(asked));
  return { ...times, result: (JSON.parse(last) as { content: TurnResult }).content };
}

/**
 * Starts the service with the stores that `environment` names, without limits, with the built-in embedder and a model for jobs that answers at
 * once. All else is as by default.
 */
export async function startMemoryService(name: string, modelUrl: string, environment: Record<string, string>): Promise<MemoryService> {
  const began = performance.now();
  const service = await startService(modelUrl, { SUMMARY_MODEL: MODEL_AT_ONCE, MEMORY_MODEL: MODEL_AT_ONCE, ...environment });
  const startMs = performance.now() - began;
  return { name, url: service.line, process: service, startMs, ask: (asked) => askService(service.line, asked) };
}

/** Posts JSON to a route of the API and returns the JSON of its answer. Throws when it is refused. */
export async function postApi<Body>(url: string, path: string, body: unknown): Promise<Body> {
  const { status, text, json } = await postJson<Body>(`${url}/api/v1${path}`, body);
  if (status >= 300) throw new Error(`POST ${path} answered ${status}: ${text.slice(0, 300)}`);
  return json;
}

/** Counts the turns in which each layer of memory was in the prompt, and those that were degraded. */
export interface LayersAtWork {
  count(result: TurnResult): void;
  /** A sentence for the notes. */
  tell(): string;
}

export function makeLayersAtWork(): LayersAtWork {
  const counts = { summary: 0, "core memory": 0, episodes: 0, passages: 0 };
  let turns = 0;
  let degraded = 0;
  return {
    count({ receipt, degraded: layers }) {
      turns++;
      if (receipt.summary) counts.summary++;
      if (receipt.core_memory.length > 0) counts["core memory"]++;
      if (receipt.episodes.length > 0) counts.episodes++;
      if (receipt.passages.length > 0) counts.passages++;
      if (layers.length > 0) degraded++;
    },
    tell() {
      const parts = Object.entries(counts).map(([layer, count]) => `${layer} in ${count}`);
      return `Of ${turns} turns, ${parts.join(", ")}; ${degraded} were degraded.`;
    },
  };
}
