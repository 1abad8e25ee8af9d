import { AppError } from "../errors/app-error.ts";

/** How something that threw ended, as a label with few values: the code of an AppError, else what kind of end it was. */
export function outcomeLabel(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.code;
  if (thrown instanceof Error && thrown.name === "TimeoutError") return "timeout";
  if (thrown instanceof Error && thrown.name === "AbortError") return "cancelled";
  return "internal_error";
}

/** What a model is asked for; `task`: what a front end wants for itself, a title say. */
export type ModelPurpose = "chat" | "task" | "summary" | "router" | "memory" | "embed_question" | "embed_passages";

/** Something that takes time. Every value comes from a closed set or from the configuration: never what a user wrote, never an id. */
export type Work =
  | { work: "node"; name: string }
  | { work: "model_call"; purpose: ModelPurpose; model: string }
  | { work: "statement"; name: string }
  | { work: "search"; store: string; operation: string }
  | { work: "job"; kind: string };

/** What is learnt of a piece of work while it runs, besides its time and whether it threw. */
export interface WorkFacts {
  /** It failed, or ended in another way of its own, without throwing: a code of errors/error-codes.ts, say. */
  outcome?: string;
  /** Tokens of a model call. */
  inputTokens?: number;
  outputTokens?: number;
  /** The model's server sent no counts. */
  tokensAreEstimated?: boolean;
  /** Milliseconds. */
  firstTokenMs?: number;
}

/** Something that takes no time. */
export type Happening =
  | { happened: "circuit"; circuit: string; state: "closed" | "half_open" | "open" }
  | { happened: "memory_operation"; operation: string; refused: boolean };

/** Who watches how the parts work. It never changes what they do, and never throws. */
export interface Observer {
  /** Runs `run` and returns or throws what it does; `learn` takes what is known of it besides. */
  watch<Result>(work: Work, run: (learn: (facts: WorkFacts) => void) => Promise<Result>): Promise<Result>;
  /** Hears of something that takes no time. */
  tell(happening: Happening): void;
}

const noop = (): void => undefined;

/** Nobody watches: no cost. */
export const NOOP_OBSERVER: Observer = { watch: (_work, run) => run(noop), tell: noop };

/** Both watch, the first from outside. */
export function combineObservers(outer: Observer, inner: Observer): Observer {
  return {
    watch: (work, run) =>
      outer.watch(work, (learnOuter) =>
        inner.watch(work, (learnInner) =>
          run((facts) => {
            learnOuter(facts);
            learnInner(facts);
          }),
        ),
      ),
    tell(happening) {
      outer.tell(happening);
      inner.tell(happening);
    },
  };
}
