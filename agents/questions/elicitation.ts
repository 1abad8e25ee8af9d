import { v7 as uuidv7 } from "uuid";
import { checkBySchema } from "../../models/wire/check-by-schema.ts";
import type { Elicit, ElicitedForm, FilledForm, FormField, FormValue } from "../../turn/elicited-form.ts";
import type { Answered, PendingCall } from "../../turn/resumed-turn.ts";
import type { NewQuestion } from "../../turn/question.ts";
import { canonicalJson } from "../../text/canonical-json.ts";
import { type Answer, type Asking, type Ready, refused } from "./questions.ts";

/** The limit for one call. A server that asks on gets no more answers. */
const MOST_FORMS = 5;
/** Somebody has to read and to write. */
const FORM_MS = 300_000;

/** Answers beside the values of a field. */
const DECLINE = "decline";
const LEAVE_OUT = "leave out";
const [YES, NO] = ["yes", "no"];

const identityOf = ({ server, message, fields }: ElicitedForm): string => canonicalJson({ server, message, fields });

/** The answers for the server of a call, and the first form without one. */
export function answerForms(forms: readonly FilledForm[]): { elicit: Elicit; unanswered: () => FilledForm | null } {
  let first: ElicitedForm | null = null;
  return {
    elicit(form) {
      const known = forms.find((one) => one.state === "accepted" && identityOf(one) === identityOf(form));
      if (known) return known.content;
      first ??= form;
      return null;
    },
    unanswered: () => (first && forms.length < MOST_FORMS ? { ...first, content: {}, done: 0, problem: null, state: "open" } : null),
  };
}

const option = (label: string, description: string, is_recommended = false) => ({ label, description, is_recommended });

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function optionsOf({ choices, usual, required }: FormField): NewQuestion["options"] {
  const chosen = [usual].flat();
  const values = choices?.map(({ label, value }) => option(label, "", chosen.includes(value)));
  const written = usual === undefined ? [] : [option(asText(usual), "", true)];
  return [
    ...(values ?? written),
    ...(required ? [] : [option(LEAVE_OUT, "Send nothing for this field.")]),
    option(DECLINE, "Answer nothing of what the server asks. The call is not made again."),
  ];
}

/** A form's next field, or its request for consent when it has none. */
function formQuestion({ name, arguments: given }: PendingCall, { server, message, fields, done, problem }: FilledForm): NewQuestion {
  const field = fields[done];
  const asks = `The MCP server "${server}" asks in the middle of "${name}": ${message}`;
  const parts = [asks, field?.about, problem === null ? undefined : `The last answer did not fit: ${problem}`];
  return {
    type: "clarification",
    question: parts.filter((part) => part !== undefined).join("\n\n"),
    options: field
      ? optionsOf(field)
      : [option(YES, "The call is made again, and the server is told yes."), option(NO, "The call is not made again.")],
    allow_multiple: field?.severally ?? false,
    tool: { name, arguments: given },
    ifUnanswered: null,
    timeoutMs: FORM_MS,
  };
}

/** Throws Error with what is wrong with the answer. */
function valueOf({ choices, severally, schema }: FormField, labels: readonly string[], text: string | null): FormValue {
  const said = labels.length > 0 ? labels : text === null ? [] : [text.trim()];
  if (choices) {
    const values = said.map((label) => choices.find((choice) => choice.label === label));
    if (values.includes(undefined) || values.length === 0) throw new Error("choose one of the options");
    const chosen = values.flatMap((choice) => (choice ? [choice.value] : []));
    return severally ? chosen.map(String) : (chosen[0] ?? "");
  }
  const [written = ""] = said;
  if (schema["type"] === "string") return written;
  const number = Number(written.normalize("NFKC") || NaN);
  if (Number.isNaN(number)) throw new Error("it is no number");
  return number;
}

function checked({ schema }: FormField, value: FormValue): FormValue {
  const last = checkBySchema(schema, value, { draft: "2020-12", isQuick: false }).at(-1);
  if (!last) return value;
  throw new Error(last.error);
}

function fillForm(form: FilledForm, { value, text, by }: Pick<Answer, "value" | "text" | "by">): FilledForm {
  if (by !== "person") return { ...form, state: "unanswered" };
  const labels = value === null ? [] : [value].flat();
  const field = form.fields[form.done];
  if (!field) return { ...form, state: labels[0] === YES ? "accepted" : "declined" };
  const isOwn = (label: string): boolean => labels[0] === label && !field.choices?.some((choice) => choice.label === label);
  if (isOwn(DECLINE)) return { ...form, state: "declined" };
  try {
    const content = isOwn(LEAVE_OUT) ? form.content : { ...form.content, [field.name]: checked(field, valueOf(field, labels, text)) };
    const done = form.done + 1;
    return { ...form, content, done, problem: null, state: done === form.fields.length ? "accepted" : "open" };
  } catch (error) {
    return { ...form, problem: (error as Error).message };
  }
}

const ask = (call: PendingCall, form: FilledForm): Asking => ({ question: formQuestion(call, form) });

/** The call to repeat once the person has answered its server. For the model it is a new call. */
export function callAgain(
  { name, arguments: given, forms = [] }: PendingCall,
  form: FilledForm,
  seq: number,
): { call: PendingCall; ask: Asking } {
  const call = { seq, id: `call_${uuidv7().replaceAll("-", "")}`, name, arguments: given, forms: [...forms, form] };
  return { call, ask: ask(call, form) };
}

/** The verdict on a repeated call; undefined for any other. */
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

/** The waiting calls, the first with the answer in its form. */
export function withAnswer([first, ...others]: readonly PendingCall[], answered: Answered): PendingCall[] {
  const form = first?.forms?.at(-1);
  if (!first) return [];
  if (!form) return [first, ...others];
  return [{ ...first, forms: [...(first.forms ?? []).slice(0, -1), fillForm(form, answered)] }, ...others];
}
