import { WISHES } from "../../turn/state.ts";
import { type Fact, FORMS } from "./intents.ts";
import { isOf } from "./value-kinds.ts";

const LASTING = /\b(?:from now on|in (?:the )?future|always|every time)\b|以后|从现在起|今后|每次|总是|一直|始终|一律/giu;
const COURTESY =
  /\b(?:please|remember(?: to)?|(?:to )?me)\b|[,:]|请|麻烦|记住|记得|(?<!不)都?要|都|就|[你您]|(?:给|跟|和|对)我|(?<=[答复])我(?:的?问题)?|[，：]/giu;
const OVER =
  /^(?:you )?(?:no longer (?:need|have) to|(?:do not|don't) (?:need|have) to|stop(?= \w+ing)) (.+?)(?: any ?more| any longer)?$|^(?:不用|不必|不需要|不要)再?(.+?)了?$/iu;
const FORMS_OF_WISHES = FORMS.filter(({ intent }) => intent.section === WISHES);

/** How the user wants to be answered from now on. Null: the sentence, without its last mark, is no such wish. One for a single answer is none. */
export function readWish(sentence: string): Fact | null {
  const lasting = sentence.replace(LASTING, " ");
  const isChinese = /\p{Script=Han}/u.test(lasting);
  const said = lasting
    .replace(COURTESY, " ")
    .replace(/\s+/g, isChinese ? "" : " ")
    .trim();
  const over = OVER.exec(said);
  if (!over && lasting === sentence) return null;
  const wanted = (over?.[1] ?? over?.[2] ?? said).replace(/^(answer|reply|respond|writ|speak|talk)ing/i, "$1");
  for (const { intent, words } of FORMS_OF_WISHES) {
    const value = words.exec(wanted)?.groups?.["value"];
    if (value !== undefined && intent.value && isOf(intent.value, value))
      return { topic: intent.topic, holds: over ? "over" : "yes", value: intent.isMany ? value.toLowerCase() : value, isChinese };
  }
  return null;
}
