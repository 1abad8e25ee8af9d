import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type Happening, type Observer, outcomeLabel, type Work, type WorkFacts } from "../../observe/observer.ts";
import { STORE_BUCKETS, TURN_BUCKETS } from "./service-metrics.ts";

/** How a piece of work ended. `code`: null when it succeeded. */
interface Ended {
  seconds: number;
  code: string | null;
  facts: WorkFacts;
}

type Recorders = { [Kind in Work["work"]]: (work: Extract<Work, { work: Kind }>, ended: Ended) => void };

function nodeRecorder(registers: Registry[]): Recorders["node"] {
  const seconds = new Histogram({
    name: "conversation_graph_node_duration_seconds",
    help: "Time of one node of a turn.",
    labelNames: ["node"],
    buckets: TURN_BUCKETS,
    registers,
  });
  const errors = new Counter({
    name: "conversation_graph_node_errors_total",
    help: "Nodes that threw or ended in an error, by node and code.",
    labelNames: ["node", "code"],
    registers,
  });
  return ({ name: node }, ended) => {
    seconds.observe({ node }, ended.seconds);
    if (ended.code !== null) errors.inc({ node, code: ended.code });
  };
}

function modelCallRecorder(registers: Registry[]): Recorders["model_call"] {
  const calls = new Counter({
    name: "conversation_graph_model_calls_total",
    help: "Calls of models, by purpose, model and outcome: ok, or the code of the error.",
    labelNames: ["purpose", "model", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "conversation_graph_model_call_duration_seconds",
    help: "Time of one call of a model, whatever its outcome.",
    labelNames: ["purpose", "model"],
    buckets: TURN_BUCKETS,
    registers,
  });
  const firstTokenSeconds = new Histogram({
    name: "conversation_graph_model_first_token_seconds",
    help: "Time to the first token of one call of a model that streams to a reader.",
    labelNames: ["purpose", "model"],
    buckets: TURN_BUCKETS,
    registers,
  });
  const tokens = new Counter({
    name: "conversation_graph_tokens_total",
    help: "Tokens of calls of models, as counted by their servers, else estimated. Direction: prompt or completion.",
    labelNames: ["purpose", "model", "direction"],
    registers,
  });
  return ({ purpose, model }, { seconds: took, code, facts }) => {
    const { inputTokens, outputTokens, firstTokenMs } = facts;
    calls.inc({ purpose, model, outcome: code ?? "ok" });
    seconds.observe({ purpose, model }, took);
    if (firstTokenMs !== undefined) firstTokenSeconds.observe({ purpose, model }, firstTokenMs / 1_000);
    if (inputTokens) tokens.inc({ purpose, model, direction: "prompt" }, inputTokens);
    if (outputTokens) tokens.inc({ purpose, model, direction: "completion" }, outputTokens);
  };
}

function storeRecorders(registers: Registry[]): Pick<Recorders, "statement" | "search"> {
  const statementSeconds = new Histogram({
    name: "conversation_graph_postgres_statement_duration_seconds",
    help: "Time of one statement with its wait for a connection, by its name in the code, other without one; transaction: a whole one.",
    labelNames: ["statement"],
    buckets: STORE_BUCKETS,
    registers,
  });
  const statementErrors = new Counter({
    name: "conversation_graph_postgres_errors_total",
    help: "Statements that failed, by name and code.",
    labelNames: ["statement", "code"],
    registers,
  });
  const searchSeconds = new Histogram({
    name: "conversation_graph_search_duration_seconds",
    help: "Time of one call of the search index, by store and operation.",
    labelNames: ["store", "operation"],
    buckets: STORE_BUCKETS,
    registers,
  });
  const searchErrors = new Counter({
    name: "conversation_graph_search_errors_total",
    help: "Calls of the search index that failed, by store, operation and code.",
    labelNames: ["store", "operation", "code"],
    registers,
  });
  return {
    statement({ name: statement }, { seconds, code }) {
      statementSeconds.observe({ statement }, seconds);
      if (code !== null) statementErrors.inc({ statement, code });
    },
    search({ store, operation }, { seconds, code }) {
      searchSeconds.observe({ store, operation }, seconds);
      if (code !== null) searchErrors.inc({ store, operation, code });
    },
  };
}

function happeningRecorder(registers: Registry[]): (happening: Happening) => void {
  const circuits = new Gauge({
    name: "conversation_graph_circuit_state",
    help: "1 for the state a circuit breaker is in, 0 for the others: closed, half_open, open.",
    labelNames: ["circuit", "state"],
    registers,
  });
  const operations = new Counter({
    name: "conversation_graph_memory_operations_total",
    help: "Memory operations that were written, by operation and whether they were refused.",
    labelNames: ["operation", "refused"],
    registers,
  });
  return function record(happening) {
    if (happening.happened === "memory_operation") {
      operations.inc({ operation: happening.operation, refused: String(happening.refused) });
      return;
    }
    for (const state of ["closed", "half_open", "open"] as const) {
      circuits.set({ circuit: happening.circuit, state }, happening.state === state ? 1 : 0);
    }
  };
}

/** Counts and times all work. Jobs are counted where they are logged. */
export function workMetrics(registry: Registry): Observer {
  const registers = [registry];
  const recorders: Recorders = {
    node: nodeRecorder(registers),
    model_call: modelCallRecorder(registers),
    ...storeRecorders(registers),
    job: () => undefined,
  };
  return {
    async watch(work, run) {
      // Work and recorder have the same kind, which the compiler cannot see through a table.
      const record = recorders[work.work] as (work: Work, ended: Ended) => void;
      const began = performance.now();
      let facts: WorkFacts = {};
      let thrown: string | null = null;
      try {
        return await run((more) => (facts = { ...facts, ...more }));
      } catch (error) {
        thrown = outcomeLabel(error);
        throw error;
      } finally {
        record(work, { seconds: (performance.now() - began) / 1_000, code: thrown ?? facts.outcome ?? null, facts });
      }
    },
    tell: happeningRecorder(registers),
  };
}
