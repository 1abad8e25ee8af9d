import { FIELD, OCCUPATION } from "./occupations.ts";
import { ROLES } from "./relation-roles.ts";

const ADVERBS =
  "really|truly|absolutely|actually|also|always|currently|now|still|just|do|personally|particularly|especially|quite|very|so|totally|usually|generally|mostly|recently|finally|already|both|definitely|honestly|simply|genuinely|only|have|originally|officially|deeply|all time|lately|never really|strictly|severely|highly|deathly|seriously|terribly|mildly";
const UNITS = "(?:days?|weeks?|months?|years?|decades?)";
const TAIL = [
  "now|nowadays|these days|currently|lately|recently|too|also|as well|a lot|a ton|lots|so much|very much|a great deal|the most|best|by the way|btw|lol|haha+|though|in general|actually|really|tbh|honestly|to be honest|myself|already|again|by profession|by trade|for a living|:\\)|❤️?|😀|😊|😍",
  `(?:for|since) (?:the (?:last|past) )?(?:about |over |almost |nearly )?(?:\\w+ )?${UNITS}(?: now)?`,
  "since (?:\\d{4}|\\w+ \\d{4}|last \\w+|birth|childhood|i was \\w+( \\w+)?)",
  `(?:last|this|in|earlier this) (?:week|month|year|spring|summer|autumn|fall|winter|january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\\d\\d)`,
  `(?:a|an|two|three|four|five|\\d+|a few|some) ${UNITS} ago`,
  "with my (?:[\\w-]+ ?){1,4}",
].join("|");

const PLACEHOLDERS: [RegExp, string][] = [
  [/\{I\}/g, `i (?:(?:${ADVERBS}) )*`],
  [/\{we\}/g, `(?:i|we) (?:(?:${ADVERBS}) )*`],
  [/\{am\}/g, `(?:am|are)(?: (?:${ADVERBS}))*`],
  [/\{value\}/g, "(?<value>.+?)"],
  [/\{occupation\}/g, `(?<value>${OCCUPATION})`],
  [/\{someone\}/g, OCCUPATION],
  [/\{field\}/g, `(?<value>${FIELD})`],
  [/\{role\}/g, `(?:(?:older|younger|elder|big|little|twin|dear|eldest|youngest|lovely) )?(?<role>${ROLES.english})`],
];

/**
 * The expression for a clause that is all of the words given: {value} is what is caught, {I} and {we} allow adverbs, {am} is am or are. What
 * may follow any of them ("now", "for ten years") is not caught.
 */
export function englishPattern(words: string): RegExp {
  const source = PLACEHOLDERS.reduce((text, [placeholder, expression]) => text.replace(placeholder, expression), words);
  return new RegExp(`^${source}(?:,? (?:${TAIL}))*$`, "iu");
}
