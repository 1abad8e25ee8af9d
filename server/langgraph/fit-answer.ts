import type { Response } from "express";
import { fittingPage } from "../../stores/page.ts";
import { z } from "zod";

/** The items from an offset that fit into one answer. A header says where the next ones begin. `total`: default the number of items. */
export function fitAnswer<Item>(response: Response, items: readonly Item[], offset: number, total = offset + items.length): Item[] {
  const shown = fittingPage(items);
  const end = offset + shown.length;
  if (end < total) response.set("x-pagination-next", String(end));
  return shown;
}

/** The name of an answer's field. `within`: a field whose own fields have names, as `values.messages`. */
function fieldName(names: readonly string[], within?: string) {
  const problem = `must be one of ${names.join(", ")}`;
  if (within === undefined) return z.enum(names, problem);
  const inner = z.templateLiteral([`${within}.`, z.string().min(1)]);
  return z.union([z.enum(names), inner], `${problem}, or a field of ${within}, as ${within}.messages`);
}

/** `select` in a body: the fields that the client wants of each answer. */
export const bodySelection = (names: readonly string[], within?: string) =>
  z.array(fieldName(names, within)).nullish().describe("Only these fields. Default: all.");

/** The same in a query: once for each field. */
export const querySelection = (names: readonly string[], within?: string) =>
  z.preprocess((given) => (typeof given === "string" ? [given] : given), z.array(fieldName(names, within)).optional());

export type Selection = readonly string[] | null | undefined;

/** The selected fields that the answer has. */
export function pickFields<Answer extends object>(answer: Answer, selected: Selection): Answer {
  if (!selected || selected.length === 0) return answer;
  const picked: Record<string, unknown> = {};
  for (const name of selected) {
    const [field = "", ...inner] = name.split(".");
    const value = (answer as Record<string, unknown>)[field];
    if (value === undefined) continue;
    const part = inner.length === 0 ? value : pickFields(Object(value) as object, [inner.join(".")]);
    picked[field] = inner.length === 0 ? part : { ...(picked[field] as object | undefined), ...(part as object) };
  }
  return picked as Answer;
}
