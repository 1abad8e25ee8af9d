import { ALL_RULES, ENGLISH_RULES } from "./all-rules.ts";
import { cleanValue } from "./clean-value.ts";
import type { Fact } from "./fact.ts";
import type { FactRule } from "./fact-rule.ts";
import { aboutOf, valueKey, type Groups } from "./fact-identity.ts";

/** Longest line that is written, in characters. */
const LONGEST = 160;
const HAN = /\p{Script=Han}/u;

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function toFact({ slot, polarity, text }: FactRule, groups: Groups, value: string): Fact {
  const named: Groups = { ...groups, value, Role: capitalised((groups["role"] ?? "").toLowerCase()) };
  const line = text.replace(/\{(\w+)\}/g, (_, name: string) => named[name] ?? "");
  return { slot, polarity, about: aboutOf(slot, groups, value), key: valueKey(slot, value), text: capitalised(line) };
}

/** The facts a clause states by the rules of both languages; `isCasual` when the message is written without capitals. */
export function factsInClause(clause: string, isCasual: boolean): Fact[] {
  return (HAN.test(clause) ? ALL_RULES : ENGLISH_RULES).flatMap((rule) => {
    const match = rule.when.exec(clause);
    if (!match) return [];
    const groups: Groups = { ...match.groups };
    // Whatever else goes into the line is looked at as a value is.
    if ([groups["kind"], groups["other"]].some((other) => other !== undefined && cleanValue(other) === null)) return [];
    return rule
      .values(groups["value"] ?? "", isCasual)
      .map((value) => toFact(rule, groups, value))
      .filter(({ text }) => text.length <= LONGEST);
  });
}
