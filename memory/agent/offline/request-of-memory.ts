/** What the user asks of the memory itself, and about what. */
export interface RequestOfMemory {
  wants: "remember" | "forget";
  /** The rest of the sentence. */
  what: string;
}

const POLITE =
  "(?:(?:please|so|and|also|ok|okay|hey|can you|could you|you can|could you please|i want you to|i'd like you to|i would like you to|just|now)[,:]? )*";
const REMEMBER = [
  new RegExp(
    `^${POLITE}(?:remember|do not forget|never forget|keep in mind|bear in mind|note|make a note|memori[sz]e|for future reference|take note)(?: down)?(?: (?:for me|for later|please))?(?: that\\b|[:,])? ?(?<what>(?:i|my|we|our)\\b.+)$`,
    "iu",
  ),
  /^(?:请|麻烦|帮我|你要?|你可以|一定要|千万|务必|也)*(?:记住|记下来?|记得|牢记|记一下|别忘了?|不要忘了?|不要忘记|别忘记)(?:了)?(?:一下)?[：:，, ]*(?<what>(?:我|本人).+)$/u,
];
const FORGET = [
  new RegExp(
    `^${POLITE}(?:forget|delete|erase|remove|do not (?:remember|store|keep|save)|stop remembering|no longer remember|clear|wipe)(?: about)?(?: the fact)?(?: that)?:? (?<what>(?:i|my|we|our|where|what|how|everything|the)\\b.+?)(?: from (?:your |the )?memory)?(?:,? please)?[.!]*$`,
    "iu",
  ),
  /^(?:请|麻烦|帮我|你要?|你可以|快|也)*(?:忘掉|忘了|忘记|删掉|删除|清除|抹掉|别再记|别记|不要再记|不要记|别记住|不要记住|不用记)(?:得|住|着)?(?:了)?[：:，, ]*(?<what>(?:我|关于|有关|所有|全部).+?)[吧啦了。！!]*$/u,
  /^(?:请|麻烦|帮我|你)*把(?<what>(?:我|关于我).+?)(?:忘掉|忘了|忘记|删掉|删除|删了|抹掉|清除)[吧啦了。！!]*$/u,
];

/** "Remember that …", "忘掉…": null for any other sentence, among them what the user themself remembers or forgot. */
export function requestOfMemory(sentence: string): RequestOfMemory | null {
  for (const [wants, patterns] of [
    ["forget", FORGET],
    ["remember", REMEMBER],
  ] as const)
    for (const pattern of patterns) {
      const what = pattern.exec(sentence)?.groups?.["what"];
      if (what !== undefined && !/[?？]|吗$/u.test(sentence)) return { wants, what: what.trim() };
    }
  return null;
}
