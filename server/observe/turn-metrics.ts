import { Counter, Histogram, type Registry } from "prom-client";
import type { LastEvent } from "../../graph/start-turn.ts";
import { TURN_BUCKETS } from "./buckets.ts";

/** What is counted of a turn when it ends. */
export function turnMetrics(registry: Registry): (last: LastEvent) => void {
  const registers = [registry];
  const turns = new Counter({
    name: "conversation_graph_turns_total",
    help: "Turns that ended, by outcome: done, partial, or the code of the error.",
    labelNames: ["outcome"],
    registers,
  });
  const turnSeconds = new Histogram({
    name: "conversation_graph_turn_duration_seconds",
    help: "Time of a turn that ended with done.",
    buckets: TURN_BUCKETS,
    registers,
  });
  const firstTokenSeconds = new Histogram({
    name: "conversation_graph_turn_first_token_seconds",
    help: "Time to the first token of a turn that ended with done.",
    buckets: TURN_BUCKETS,
    registers,
  });
  const degraded = new Counter({
    name: "conversation_graph_turns_degraded_total",
    help: "Turns that ended with done without a memory layer that was switched on, by layer.",
    labelNames: ["layer"],
    registers,
  });
  const episodes = new Histogram({
    name: "conversation_graph_turn_recalled_episodes",
    help: "Earlier exchanges in the prompt of a turn that ended with done.",
    buckets: [0, 1, 2, 3, 5, 10, 20, 50],
    registers,
  });
  const passages = new Histogram({
    name: "conversation_graph_turn_passages",
    help: "Passages of documents in the prompt of a turn that ended with done.",
    buckets: [0, 1, 2, 4, 8, 16],
    registers,
  });

  return function turnEnded({ status, content }) {
    if (status === "error") {
      turns.inc({ outcome: content.code });
      return;
    }
    const { timings, receipt } = content;
    turns.inc({ outcome: content.completed ? "done" : "partial" });
    turnSeconds.observe(timings.total_ms / 1_000);
    if (timings.first_token_ms !== null) firstTokenSeconds.observe(timings.first_token_ms / 1_000);
    for (const layer of content.degraded) degraded.inc({ layer });
    episodes.observe(receipt.episodes.length);
    passages.observe(receipt.passages.length);
  };
}
