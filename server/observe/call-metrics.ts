import type { Registry } from "prom-client";
import { type Happening, type Observer, outcomeLabel, type Work, type WorkFacts } from "../../observe/observer.ts";
import { metricsIn } from "./service-metrics.ts";

/** Upper bounds in seconds for a store's call; few, because there are many statements. */
const STORE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10];

/** `code`: null when the work succeeded. */
interface Ended {
  seconds: number;
  code: string | null;
  facts: WorkFacts;
}

type Instruments = ReturnType<typeof metricsIn>;
type Recorders = { [Kind in Work["work"]]: (work: Extract<Work, { work: Kind }>, ended: Ended) => void };

function nodeRecorder({ counter, histogram }: Instruments): Recorders["node"] {
  const seconds = histogram("node_duration_seconds", "Time of one node of a turn.", ["node"]);
  const errors = counter("node_errors_total", "Nodes that threw or ended in an error, by node and code.", ["node", "code"]);
  return ({ name: node }, ended) => {
    seconds.observe({ node }, ended.seconds);
    if (ended.code !== null) errors.inc({ node, code: ended.code });
  };
}

function modelCallRecorder({ counter, histogram }: Instruments): Recorders["model_call"] {
  const calls = counter("model_calls_total", "Calls of models, by purpose, model and outcome: ok, or the code of the error.", [
    "purpose",
    "model",
    "outcome",
  ]);
  const seconds = histogram("model_call_duration_seconds", "Time of one call of a model, whatever its outcome.", ["purpose", "model"]);
  const firstTokenSeconds = histogram(
    "model_first_token_seconds",
    "Time to the first token of one call of a model that streams to a reader.",
    ["purpose", "model"],
  );
  const tokens = counter(
    "tokens_total",
    "Tokens of calls of models, as counted by their servers, else estimated. Direction: prompt or completion.",
    ["purpose", "model", "direction"],
  );
  const cached = counter("cached_tokens_total", "Of the prompts' tokens, those that servers read from their caches.", ["purpose", "model"]);
  return ({ purpose, model }, { seconds: took, code, facts }) => {
    const { inputTokens, outputTokens, cachedTokens, firstTokenMs } = facts;
    calls.inc({ purpose, model, outcome: code ?? "ok" });
    seconds.observe({ purpose, model }, took);
    if (firstTokenMs !== undefined) firstTokenSeconds.observe({ purpose, model }, firstTokenMs / 1_000);
    if (inputTokens) tokens.inc({ purpose, model, direction: "prompt" }, inputTokens);
    if (cachedTokens) cached.inc({ purpose, model }, cachedTokens);
    if (outputTokens) tokens.inc({ purpose, model, direction: "completion" }, outputTokens);
  };
}

function storeRecorders({ counter, histogram }: Instruments): Pick<Recorders, "statement" | "search"> {
  const statementSeconds = histogram(
    "postgres_statement_duration_seconds",
    "Time of one statement with its wait for a connection, by its name in the code, other without one; transaction: a whole one.",
    ["statement"],
    STORE_BUCKETS,
  );
  const statementErrors = counter("postgres_errors_total", "Statements that failed, by name and code.", ["statement", "code"]);
  const searchSeconds = histogram(
    "search_duration_seconds",
    "Time of one call of the search index, by store and operation.",
    ["store", "operation"],
    STORE_BUCKETS,
  );
  const searchErrors = counter("search_errors_total", "Calls of the search index that failed, by store, operation and code.", [
    "store",
    "operation",
    "code",
  ]);
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

/** The judged calls that the share of rejected ones is of. */
const JUDGED_CALLS = 1_000;

function rejectedRecorder({ gauge }: Instruments): (isRejected: boolean) => void {
  const ratio = gauge(
    "agent_decisions_rejected_ratio",
    `Share of the last ${JUDGED_CALLS} calls of agents that a rule refused, corrected or had asked about.`,
  );
  const last: boolean[] = [];
  let [at, rejected] = [0, 0];
  return function judged(isRejected) {
    rejected += Number(isRejected) - Number(last[at] ?? false);
    last[at] = isRejected;
    at = (at + 1) % JUDGED_CALLS;
    ratio.set(rejected / last.length);
  };
}

function happeningRecorder(instruments: Instruments): (happening: Happening) => void {
  const { counter, gauge } = instruments;
  const judged = rejectedRecorder(instruments);
  const circuits = gauge("circuit_state", "1 for the state a circuit breaker is in, 0 for the others: closed, half_open, open.", [
    "circuit",
    "state",
  ]);
  const operations = counter(
    "memory_operations_total",
    "Memory operations that were written, by operation and whether they were refused.",
    ["operation", "refused"],
  );
  const unfit = counter(
    "memory_model_unfit_total",
    "Times that a model of memory did not do, by purpose and problem: a summary that was refused, a plain fact not kept although it was asked again.",
    ["purpose", "problem"],
  );
  const unknownFinishes = counter(
    "model_finish_unknown_total",
    "Answers that a model's server ended in a word that nobody knows, by purpose; they were taken for whole ones.",
    ["purpose"],
  );
  const unused = counter(
    "conversations_expired_total",
    "Conversations that were erased because nothing had happened in them for RETENTION_DAYS.",
  );
  unused.inc(0);
  const putOff = counter(
    "memory_turns_put_off_total",
    "Turns that the built-in rules of core memory left to the next step of their job, because those before had used its processor time.",
  );
  putOff.inc(0);
  return function record(happening) {
    if (happening.happened === "turns_put_off") {
      putOff.inc(happening.turns);
      return;
    }
    if (happening.happened === "call_judged") {
      judged(happening.isRejected);
      return;
    }
    if (happening.happened === "unused_erased") {
      unused.inc(happening.conversations);
      return;
    }
    if (happening.happened === "finish_unknown") {
      unknownFinishes.inc({ purpose: happening.purpose });
      return;
    }
    if (happening.happened === "model_unfit") {
      unfit.inc({ purpose: happening.purpose, problem: happening.problem });
      return;
    }
    if (happening.happened === "memory_operation") {
      operations.inc({ operation: happening.operation, refused: String(happening.refused) });
      return;
    }
    if (happening.happened !== "circuit") return;
    for (const state of ["closed", "half_open", "open"] as const) {
      circuits.set({ circuit: happening.circuit, state }, happening.state === state ? 1 : 0);
    }
  };
}

/** Counts and times all work but jobs, which `jobMetrics` counts. */
export function callMetrics(registry: Registry): Observer {
  const instruments = metricsIn(registry);
  const recorders: Recorders = {
    node: nodeRecorder(instruments),
    model_call: modelCallRecorder(instruments),
    ...storeRecorders(instruments),
    job: () => undefined,
  };
  return {
    async watch(work, run) {
      // The compiler cannot see that work and recorder have the same kind.
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
    tell: happeningRecorder(instruments),
  };
}
