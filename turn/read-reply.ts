import type { Question } from "./question.ts";

/** What somebody answers. */
export interface ReadReply {
  /** Labels of options. */
  answer?: string | string[];
  text?: string;
}

/** As people write the same: without width, case, signs and spaces around it. */
const plain = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\p{P}\p{S}\p{Z}\s\ufe0f]+/gu, " ")
    .trim();

const setOf = (words: string): ReadonlySet<string> => new Set(words.split("|").map(plain));

const YES = setOf(
  "yes|y|yeah|yep|yes please|yes you may|you may|ok|okay|sure|go ahead|do it|please do|allow|allow it|allow once|approve|approved|confirm|confirmed|continue|是|是的|对|好|好的|好吧|行|可以|可以的|允许|允许一次|允许这一次|同意|批准|确认|嗯|没问题|请继续|继续",
);
const ALWAYS = setOf(
  "always|allow always|always allow|yes always|always yes|allow from now on|总是|总是允许|始终允许|一直允许|永远允许|以后都允许|以后都可以|每次都允许",
);
const NO = setOf(
  "no|n|nope|no thanks|no thank you|deny|denied|don't|dont|do not|don't do it|do not allow|reject|stop|cancel|never|not now|不|不是|否|不行|不要|不用|不用了|不可以|不允许|不同意|拒绝|取消|别|别做|停止|停",
);
const THUMB_UP = /^\s*(?:👍\p{Emoji_Modifier}?|✅|✔️?)\s*$/u;
const THUMB_DOWN = /^\s*(?:👎\p{Emoji_Modifier}?|❌|✖️?)\s*$/u;

const CHINESE_DIGITS = "一二三四五六七八九";
const NUMBER = /^(?:(?:option|number|选项?|选择|第)\s*)?(\d{1,2}|[一二三四五六七八九]|十)\s*(?:个|项|号|条|种)?$/;
const BETWEEN_NUMBERS = /[\s,，、;；&+和与跟]|\band\b/u;

function numberOf(text: string): number | null {
  const found = NUMBER.exec(plain(text))?.[1];
  if (found === undefined) return null;
  if (found === "十") return 10;
  const chinese = CHINESE_DIGITS.indexOf(found);
  return chinese >= 0 ? chinese + 1 : Number(found);
}

/** The places, from 1, that a reply of nothing but numbers names; null: it says something else. */
function numbersOf(text: string): number[] | null {
  const whole = numberOf(text);
  if (whole !== null) return [whole];
  const parts = text
    .normalize("NFKC")
    .trim()
    .split(BETWEEN_NUMBERS)
    .filter((part) => part !== "");
  const numbers = parts.map(numberOf);
  return parts.length > 0 && numbers.every((number) => number !== null) ? numbers : null;
}

type Answerable = Pick<Question, "type" | "options" | "allow_multiple">;

/** The labels that a reply chooses; null: none of them. */
function chosenLabels({ options, allow_multiple: severally }: Answerable, text: string): string[] | null {
  const labels = options.map(({ label }) => label);
  const same = labels.find((label) => plain(label) === plain(text));
  if (same !== undefined) return [same];
  const numbers = numbersOf(text);
  const chosen = numbers?.map((number) => labels[number - 1]).filter((label) => label !== undefined);
  if (chosen && chosen.length === numbers?.length && (severally || chosen.length === 1)) return [...new Set(chosen)];
  const meaning = [YES, NO].find((words) => words.has(plain(text)));
  const meant = meaning ? labels.filter((label) => meaning.has(plain(label))) : [];
  return meant.length === 1 ? meant : null;
}

/**
 * What a reply in words says to a question. Nothing but a clear word of consent allows a call: any other reply denies it, and the model reads
 * what was said. Other questions take a reply that is none of their options in the person's own words.
 */
export function readReply(question: Answerable, text: string): ReadReply {
  const chosen = chosenLabels(question, text);
  if (question.type !== "permission") {
    if (chosen === null) return { text };
    return { answer: question.allow_multiple ? chosen : (chosen[0] ?? "") };
  }
  const [label] = chosen ?? [];
  if (label !== undefined) return { answer: label };
  if (YES.has(plain(text)) || THUMB_UP.test(text)) return { answer: "allow_once" };
  if (ALWAYS.has(plain(text))) return { answer: "allow_always" };
  if (NO.has(plain(text)) || THUMB_DOWN.test(text)) return { answer: "deny" };
  return { answer: "deny", text };
}
