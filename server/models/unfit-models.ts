import type { Logger } from "pino";
import { z } from "zod";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";

const UnfitModel = z.object({
  purpose: z.enum(["summary", "memory"]),
  problem: z
    .string()
    .describe(
      "`keeps_nothing` of plain facts, or `misses_facts`; of summaries `shares_nothing` with what the user said, `unsaid_names`, `repeats_itself`, `foreign_script`, `length`.",
    ),
  times: z.int(),
  last_at: z.iso.datetime(),
});
type UnfitModel = z.infer<typeof UnfitModel>;

export const UnfitModels = z
  .array(UnfitModel)
  .describe(
    "Models of this process whose summaries were refused, so that built-in ones stood in, or that did not keep a plain fact, also when asked again.",
  );

/** Remembers and logs which models are unfit for memory. */
export function watchUnfitModels(log: Logger): { observer: Observer; list: () => UnfitModel[] } {
  const found = new Map<string, UnfitModel>();
  const observer: Observer = {
    ...NOOP_OBSERVER,
    tell(happening) {
      if (happening.happened !== "model_unfit") return;
      const { purpose, problem } = happening;
      const key = `${purpose} ${problem}`;
      const times = (found.get(key)?.times ?? 0) + 1;
      found.set(key, { purpose, problem, times, last_at: new Date().toISOString() });
      const setting = purpose === "summary" ? "SUMMARY_MODEL" : "MEMORY_MODEL";
      log.warn({ purpose, problem, times }, `the model does not do for memory: set ${setting} to a larger one`);
    },
  };
  return { observer, list: () => [...found.values()] };
}
