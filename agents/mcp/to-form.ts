import { z } from "zod";
import type { ElicitedForm, FormChoice, FormField } from "../../turn/elicited-form.ts";

/** A form is asked field by field: nobody answers more. */
const MOST_FIELDS = 20;
const MOST_CHOICES = 20;
const MESSAGE_CHARACTERS = 2_000;
const ABOUT_CHARACTERS = 500;
const LABEL_CHARACTERS = 200;

const Titled = z.object({ const: z.string(), title: z.string().optional() });
const limit = z.number().optional();
/** Ignores the rest of a stranger's schema: patterns may run for very long, and are left to the server. */
const Property = z.object({
  type: z.enum(["string", "number", "integer", "boolean", "array"]),
  format: z.enum(["email", "uri", "date", "date-time"]).optional(),
  minLength: limit,
  maxLength: limit,
  minimum: limit,
  maximum: limit,
  minItems: limit,
  maxItems: limit,
  title: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(Titled).optional(),
  items: z.object({ enum: z.array(z.string()).optional(), anyOf: z.array(Titled).optional() }).optional(),
  default: z.unknown().optional(),
});
const Requested = z.object({ properties: z.record(z.string(), Property).default({}), required: z.array(z.string()).default([]) });

const titled = (values: readonly z.infer<typeof Titled>[]): FormChoice[] =>
  values.map(({ const: value, title = value }) => ({ label: title, value }));

function choicesOf({ type, enum: values, enumNames = [], oneOf, items }: z.infer<typeof Property>): FormChoice[] | null {
  if (type === "boolean")
    return [
      { label: "yes", value: true },
      { label: "no", value: false },
    ];
  if (oneOf ?? items?.anyOf) return titled(oneOf ?? items?.anyOf ?? []);
  const plain = values ?? items?.enum;
  return plain ? plain.map((value, index) => ({ label: enumNames[index] ?? value, value })) : null;
}

/** Labels must differ. */
function canBeChosen(choices: readonly FormChoice[]): boolean {
  const labels = new Set(choices.map(({ label }) => label));
  return labels.size === choices.length && labels.size <= MOST_CHOICES && [...labels].every((label) => label.length <= LABEL_CHARACTERS);
}

function toField(name: string, property: z.infer<typeof Property>, required: boolean): FormField | null {
  const choices = choicesOf(property);
  const severally = property.type === "array";
  if (choices ? !canBeChosen(choices) : severally) return null;
  const { title = name, description, default: usual, ...schema } = property;
  const about = description === undefined ? title : `${title}: ${description}`;
  return { name, about: about.slice(0, ABOUT_CHARACTERS).toWellFormed(), required, choices, severally, usual, schema };
}

/** The form of an elicitation; null when a person cannot be asked it. `params` must be free of secrets. */
export function toForm(server: string, params: { message: string; requestedSchema: unknown }): ElicitedForm | null {
  const { data } = Requested.safeParse(params.requestedSchema);
  const entries = Object.entries(data?.properties ?? {});
  if (!data || entries.length > MOST_FIELDS) return null;
  const fields = entries.map(([name, property]) => toField(name, property, data.required.includes(name)));
  if (fields.includes(null)) return null;
  return { server, message: params.message.slice(0, MESSAGE_CHARACTERS).toWellFormed(), fields: fields.filter((field) => field !== null) };
}
