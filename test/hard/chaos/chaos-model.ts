import type { ChatRequestBody, ModelScript } from "../../servers/model-server.ts";
import { saidIn } from "./chaos-summaries.ts";

const SUMMARY_MODEL = "test-summary";
const MEMORY_MODEL = "test-memory";
export const LEASE_MS = 2_000;
export const HISTORY_WINDOW = 2;

/** Leases, deadlines and windows are short, so that much happens with them. */
export const CHAOS_SETTINGS = {
  SUMMARY_MODEL,
  MEMORY_MODEL,
  ENABLE_CORE_MEMORY: "true",
  SHUTDOWN_GRACE_MS: "500",
  TURN_LEASE_MS: String(LEASE_MS),
  MODEL_FIRST_TOKEN_TIMEOUT_MS: "3000",
  MODEL_IDLE_TIMEOUT_MS: "1500",
  SUMMARY_MIN_MESSAGES: "4",
  SUMMARY_UPDATE_DELTA: "2",
  HISTORY_WINDOW: String(HISTORY_WINDOW),
};

const WORDS = ["yes", "no", "perhaps", "ship", "当然", "可以", "🙂👍", "naïve", "\n\n", "“quoted”", "e\u0301", "long-winded explanation"];

/** Answers at any length and pace; now and then it fails, breaks off or falls silent. A summary names all that people said, in order. */
export function makeChaosModel(random: (below: number) => number): (body: ChatRequestBody) => ModelScript {
  let answers = 0;
  return ({ model, messages }) => {
    if (model === SUMMARY_MODEL) {
      const said = messages.flatMap(({ content }) => saidIn(content));
      return random(10) === 0 ? { status: 500 } : { tokens: [`They: ${said.join(" ")}.`], firstTokenMs: random(100) };
    }
    if (model === MEMORY_MODEL) return random(10) === 0 ? { status: 500 } : { tokens: ["nothing to do"], firstTokenMs: random(100) };
    const length = 3 + random(random(5) === 0 ? 150 : 40);
    const asked = messages.at(-1)?.content.split(" ").at(-1) ?? "";
    const words = Array.from({ length }, () => `${WORDS[random(WORDS.length)]} `);
    const script: ModelScript = {
      tokens: [`Answer ${answers++} to ${asked}: `, ...words],
      firstTokenMs: random(300),
      betweenMs: random(50),
    };
    const chance = random(100);
    if (chance < 3) return { status: 500 };
    if (chance < 4) return { status: 429 };
    if (chance < 6) return { ...script, ending: "cut" };
    if (chance < 7) return { ...script, ending: "end" };
    if (chance < 9) return { ...script, ending: "hang" };
    if (chance < 10) return { ...script, firstTokenMs: 10_000 };
    return script;
  };
}
