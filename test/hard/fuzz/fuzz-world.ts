import { ERROR_CODES } from "../../../errors/error-codes.ts";
import { postJson } from "../../support/clients/api-client.ts";
import type { Filling } from "./fuzz-sender.ts";
import { makeKnowledgeClient } from "../../support/clients/knowledge-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { useOpened } from "../../support/use-opened.ts";

/** A service process on a data folder of its own, for the tests of the block around it. */
export const useServiceProcess = (environment: Record<string, string> = {}) =>
  useOpened(async () => {
    const { folder, remove } = await createDataFolder();
    const service = await startServiceProcess({ DATA_DIR: folder, ...environment });
    return { ...service, folder, close: () => killServiceProcesses().then(remove) };
  });

type Answered = { answer: string; conversation_id: string; message_id: string; completed: boolean };

export type CanaryIds = Omit<Filling, "USER-PLACE">;

/** Makes the knowledge base that requests name, unless it is there; its document's id. */
async function makeTravel(url: string): Promise<string> {
  const client = makeKnowledgeClient(url);
  await client.put("travel", { description: "Trains, ferries and hotels.", keywords: ["ferry"] });
  const { json } = await client.add("travel", { title: "Ferries", text: "The ferry to Skye leaves at noon.", external_id: "ferries" });
  return json.id;
}

export async function canaryTurn(url: string, name: string): Promise<CanaryIds> {
  const message = `My name is Ada and this is ${name}.`;
  const { status, headers, json, text } = await postJson<Answered>(`${url}/api/v1/chat`, { user_id: name, session_id: "canary", message });
  if (status !== 200 || !json.completed || json.answer === "") throw new Error(`${name} answered ${status}: ${text.slice(0, 500)}`);
  return {
    "CONVERSATION-PLACE": json.conversation_id,
    "MESSAGE-PLACE": json.message_id,
    "TURN-PLACE": headers.get("x-turn-id") ?? "",
    "DOCUMENT-PLACE": await makeTravel(url),
  };
}

/** Bytes in memory, and how late the event loop was, in seconds. */
export async function measure(url: string): Promise<{ bytes: number; lag: number }> {
  const { samples } = await readMetrics(url);
  return { bytes: samples.get("process_resident_memory_bytes") ?? 0, lag: samples.get("nodejs_eventloop_lag_p99_seconds") ?? 0 };
}

const HINT = /^(Try it:| +curl |No model is set up\.|$)/;
const ERROR_LEVEL = 50;

/** What a service has printed that it should not: errors in its log, warnings of the runtime, traces of crashes. */
export function complaintsOf(service: ServiceProcess): string[] {
  return service
    .output()
    .split("\n")
    .filter((line) => {
      if (!line.startsWith("{")) return !HINT.test(line);
      const { level, code } = JSON.parse(line) as { level: number; code?: string };
      return level >= ERROR_LEVEL || (code !== undefined && !(code in ERROR_CODES));
    });
}

export function growthOf(memory: readonly number[]): number {
  const quarter = Math.ceil(memory.length / 4);
  return Math.min(...memory.slice(-quarter)) - Math.min(...memory.slice(quarter, 2 * quarter));
}
