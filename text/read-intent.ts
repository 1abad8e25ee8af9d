import { INTENT_WORDS } from "./intent-words.ts";

export type Intent = keyof typeof INTENT_WORDS;

const SHORT_FORMS: readonly [string, string][] = [
  ["<I>", "(?:i|we)(?:['’](?:d|m|ve|ll|re)| am| are| have| had| will| would)?"],
  ["<me>", "(?:我|我们|本人|咱们?)"],
];

/** Makes group names unique, as Node 22 requires: `(?<word>` becomes `(?<word_0>`, `(?<word_1>`, … */
function numberGroups(expression: string): string {
  let number = 0;
  return expression.replace(/\(\?<(\w+)>/g, (_whole, name: string) => `(?<${name}_${number++}>`);
}

/** The matched groups by their names without numbers. */
function namedGroups(groups: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const found = Object.entries(groups).filter(([, text]) => text !== undefined);
  return Object.fromEntries(found.map(([name, text]) => [name.replace(/_\d+$/, ""), text]));
}

function toExpression(phrases: readonly string[], gap: string, edge: string): RegExp {
  const spelled = SHORT_FORMS.reduce((text, [short, long]) => text.replaceAll(short, long), phrases.join("|"));
  return new RegExp(numberGroups(`${edge}(?:${spelled.replaceAll("…", gap)})${edge}`), "iu");
}

const EXPRESSIONS = Object.fromEntries(
  Object.entries(INTENT_WORDS).map(([intent, { english, chinese }]) => [
    intent,
    { english: toExpression(english, "(?: \\w{1,20}){0,2}", "\\b"), chinese: toExpression(chinese, "[^，。？！]{0,6}", "") },
  ]),
) as Record<Intent, Record<"english" | "chinese", RegExp>>;

const HAN = /\p{Script=Han}/u;

/** The named groups of an intent's words in an English or Chinese sentence, or null. */
export function readIntent(intent: Intent, sentence: string): Readonly<Record<string, string | undefined>> | null {
  const { english, chinese } = EXPRESSIONS[intent];
  const found = english.exec(sentence) ?? (HAN.test(sentence) ? chinese.exec(sentence) : null);
  return found && namedGroups(found.groups ?? {});
}

export const hasIntent = (intent: Intent, sentence: string): boolean => readIntent(intent, sentence) !== null;
