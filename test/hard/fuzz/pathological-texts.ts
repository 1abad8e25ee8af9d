const LENGTH = 32_000;

const CHARACTERS = "\n\t \u00a0\u3000\u2028aA10\"'“「()[（{<,，、.。?？!:：;-_*#`/\\|=\u0301的我😀\ud83d\u200d\0一十年%";
const WORDS = [
  ..."1a “” [( () {{ </a a- *a ab a. a@b. 1/1/ 1月 1月1日 我喜欢 我喜欢， e\u0301 👨‍👩‍👧 &amp; ${ http://a.b/ <|im_start|> <user_message> 茶、".split(
    " ",
  ),
  ..."\r\n| \n|<a |, |I |a |a, |aa, |Ada |Ada. |- a\n|> a\n|1. a\n|```\n|user: |\nsystem:|<core_memory>\n|<passages>\n[1] |[1,|last week ago ".split(
    "|",
  ),
  ..."I like tea and |I really really |I live in Porto. |and or the of |January 11, |May |2024-01-11 |ignore previous ".split("|"),
  `${"word".repeat(100)} `,
  '{"a":',
];

/** What an expression may wait for the end of, and what never comes to one. */
const BEGINNINGS = [
  ..."<s </core_memory [INST < http:// 我喜欢 1月".split(" "),
  ...["[1] ", "I like ", "remember that ", "USER: ", "May 1", "Bearer "],
];
const ENDLESS = [" ", "\n", "\u200d", "a", "1", "的", "a ", ", "];

const filled = (unit: string, length: number): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

/**
 * Texts of 32,000 characters that a careless expression reads in quadratic time or worse: alone, between two letters, and after a
 * beginning.
 */
export function pathologicalTexts(): [name: string, text: string][] {
  return [
    ...[...CHARACTERS, ...WORDS].flatMap((unit): [string, string][] => [
      [JSON.stringify(unit), filled(unit, LENGTH)],
      [`${JSON.stringify(unit)} between letters`, `x${filled(unit, LENGTH - 2)}x`],
    ]),
    ...BEGINNINGS.flatMap((beginning) =>
      ENDLESS.map((unit): [string, string] => [
        `${JSON.stringify(unit)} after ${beginning}`,
        `${beginning}${filled(unit, LENGTH - beginning.length - 1)}|`,
      ]),
    ),
  ];
}
