import { ALL_RULES } from "./all-rules.ts";
import { aboutOf, valueKey } from "./fact-identity.ts";
import type { FactRule } from "./fact-rule.ts";
import type { Fact } from "./fact.ts";
import { OTHER_WORDINGS } from "./other-wordings.ts";
import { ROLES } from "./relation-roles.ts";
import { SLOTS, type Slot } from "./slots.ts";
import { splitThings } from "./split-things.ts";

/** What a line of core memory says: the values it lists, and the line with other values in their place. */
export interface LineFact extends Pick<Fact, "slot" | "polarity" | "about"> {
  items: { value: string; key: string }[];
  rewrite: (values: string[]) => string;
}

interface Form {
  slot: Slot;
  polarity: Fact["polarity"];
  expression: RegExp;
  isValue: (value: string) => boolean;
}

const LISTED: ReadonlySet<Slot> = new Set(["taste", "allergy", "avoids"]);
const WHO = "(?:- ?)?(?:(?:the )?user(?:'s)? |he |she |they |用户(?:的|是)?|他|她)?(?:now |currently |also |still |现在|目前)?";
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const asExpression = (line: string): RegExp => new RegExp(`^${WHO}${line}[.。!！]*$`, "diu");

function formOfRule(rule: FactRule): Form {
  const names: Record<string, string> = {
    value: "(?<value>.+?)",
    kind: "(?<kind>.+?)",
    other: "(?<other>.+?)",
    Role: `(?<role>${ROLES.english})`,
    role: `(?<role>${ROLES.chinese})`,
  };
  const line = escaped(rule.text.replace(/[.。]$/u, "")).replace(/\\\{(\w+)\\\}/g, (_, name: string) => names[name] ?? "");
  return { ...rule, expression: asExpression(line), isValue: (value) => rule.values(value, false).length > 0 };
}

const FORMS: Form[] = [
  ...ALL_RULES.filter(({ text }) => text.includes("{value}") && !/^\{value\}[.。]$/u.test(text)).map(formOfRule),
  ...OTHER_WORDINGS.map(([slot, line, polarity]) => ({
    slot,
    polarity: polarity ?? ("yes" as const),
    expression: asExpression(line.replace("{value}", "(?<value>.+?)")),
    isValue: () => true,
  })),
];

/** What a line says by any of the forms that are written here or known, at most one reading for each slot; nothing for free text. */
export function readLine(line: string): LineFact[] {
  const read = new Map<Slot, LineFact>();
  for (const { slot, polarity, expression, isValue } of FORMS) {
    const match = read.has(slot) ? null : expression.exec(line);
    const value = match?.groups?.["value"];
    const place = match?.indices?.groups?.["value"];
    if (!match || value === undefined || !place || !isValue(value)) continue;
    const items = (LISTED.has(slot) ? splitThings(value) : [value]).map((item) => ({ value: item, key: valueKey(slot, item) }));
    const separator = /\p{Script=Han}/u.test(value) ? "、" : ", ";
    const rewrite = (values: string[]): string => line.slice(0, place[0]) + values.join(separator) + line.slice(place[1]);
    read.set(slot, { slot, polarity, about: aboutOf(slot, { ...match.groups }, value), items, rewrite });
  }
  return [...read.values()];
}

/** The readings of a line that belong into the section where it stands. */
export function readLineOf(section: string, line: string): LineFact[] {
  return readLine(line).filter(({ slot }) => SLOTS[slot].section === section);
}
