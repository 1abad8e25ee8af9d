import { v7 as uuidv7 } from "uuid";
import { fillForm, formQuestion } from "../questions/elicitation.ts";
import type { FilledForm } from "../../turn/elicited-form.ts";
import type { PendingCall, ResumedTurn } from "../../turn/resumed-turn.ts";
import { type Asking, type Ready, refused } from "./answered-calls.ts";

const ask = (call: PendingCall, form: FilledForm): Asking => ({ question: formQuestion(call, form) });

/** The call that is made again once the person has answered what its server asks. For the model it is a call of its own. */
export function callAgain(
  { name, arguments: given, forms = [] }: PendingCall,
  form: FilledForm,
  seq: number,
): { call: PendingCall; ask: Asking } {
  const call = { seq, id: `call_${uuidv7().replaceAll("-", "")}`, name, arguments: given, forms: [...forms, form] };
  return { call, ask: ask(call, form) };
}

/** What becomes of a call that is made again. Undefined: it is none. */
export function ofForms(call: PendingCall): Ready | { ask: Asking } | undefined {
  const form = call.forms?.at(-1);
  if (!form) return undefined;
  if (form.state === "open") return { ask: ask(call, form) };
  if (form.state === "accepted") return { run: "allow" };
  const why = form.state === "declined" ? "The person declined to answer" : "Nobody answered in time";
  return refused(
    "not_answered",
    `${why} what the MCP server "${form.server}" asks. The call was not made again.`,
    "Do without it, and say so.",
  );
}

/** The calls that waited, the first with the answer in its form, if it has one. */
export function withAnswer([first, ...others]: readonly PendingCall[], { answered }: Pick<ResumedTurn, "answered">): PendingCall[] {
  const form = first?.forms?.at(-1);
  if (!first) return [];
  if (!form || answered.by === "cancelled") return [first, ...others];
  return [{ ...first, forms: [...(first.forms ?? []).slice(0, -1), fillForm(form, answered)] }, ...others];
}
