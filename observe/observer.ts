import { AppError } from "../errors/app-error.ts";

export function outcomeLabel(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.code;
  if (thrown instanceof Error && thrown.name === "TimeoutError") return "timeout";
  if (thrown instanceof Error && thrown.name === "AbortError") return "cancelled";
  return "internal_error";
}

/** The purpose of a model call; `task`: a front end's own, such as a title. */
export type ModelPurpose = "chat" | "task" | "title" | "summary" | "router" | "memory" | "embed_question" | "embed_passages";

/** Work that takes time. Its values come from closed sets or the configuration, never from users. */
export type Work =
  | { work: "node"; name: string }
  | { work: "model_call"; purpose: ModelPurpose; model: string }
  | { work: "statement"; name: string }
  | { work: "search"; store: string; operation: string }
  | { work: "job"; kind: string };

/** What is known of a piece of work besides its time and whether it threw. */
export interface WorkFacts {
  outcome?: string;
  inputTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  tokensAreEstimated?: boolean;
  firstTokenMs?: number;
}

/** An event that takes no time. */
export type Happening =
  | { happened: "circuit"; circuit: string; state: "closed" | "half_open" | "open" }
  | { happened: "memory_operation"; operation: string; refused: boolean }
  /** The rules had no time left: the memory agent reads these turns in its next step. */
  | { happened: "turns_put_off"; turns: number }
  /** By RETENTION_DAYS. */
  | { happened: "unused_erased"; conversations: number; messages: number }
  /** Rules were read about a call of an agent. */
  | { happened: "call_judged"; isRejected: boolean }
  | { happened: "tool_broke"; tool: string; error: AppError }
  /** The server ended an answer in an unknown word; it was taken for a whole one. */
  | { happened: "finish_unknown"; purpose: ModelPurpose }
  /** A model's summary was refused, or it missed a plain fact even when asked again. */
  | { happened: "model_unfit"; purpose: "summary" | "memory"; problem: string };

/** Watches how the parts work, changes nothing and never throws. */
export interface Observer {
  /** Returns or throws what `run` does; `learn` takes facts. */
  watch<Result>(work: Work, run: (learn: (facts: WorkFacts) => void) => Promise<Result>): Promise<Result>;
  tell(happening: Happening): void;
}

const noop = (): void => undefined;

export const NOOP_OBSERVER: Observer = { watch: (_work, run) => run(noop), tell: noop };

/** Makes one observer of two; the outer one also times the inner. */
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
