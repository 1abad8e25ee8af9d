const WORDINGS: [RegExp, string][] = [
  [/[’‘]/g, "'"],
  [/[ \t\u00A0]+/g, " "],
  [/\b(i)['’]?m\b/gi, "$1 am"],
  [/\b(i|we|you)['’]ve\b|\b(i)ve\b/gi, "$1$2 have"],
  [/\b(i|we)['’]d\b/gi, "$1 would"],
  [/\b(we|you|they)['’]re\b/gi, "$1 are"],
  [/\b(it|that|he|she|name|birthday|goal|dream|job|favou?rite \w+)['’]s\b/gi, "$1 is"],
  [/\b(name|birthday) (?=(?:is )?is\b)/gi, "$1 "],
  [/\bcan(?:['’]?t|not)\b/gi, "can not"],
  [/\b(do|is|are|was|did|does|would|could|should)n['’]?t\b/gi, "$1 not"],
  [/\bwon['’]t\b/gi, "will not"],
  // "my name is not Ann, it's Anna" says the same as the name alone: there is one.
  [/\b(my (?:name|job|birthday) is|i am called) not [^,.;]{1,30}[,;.] ?(?:but |it is |rather )+(?=\S)/gi, "$1 "],
  [
    /^((?:[Hh]i|[Hh]ello|[Hh]ey)(?: there| all| everyone| everybody)?[,!. ]+)[Ii] am (?=\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?(?:[.,!\n]|$| and ))(?!(?:American|Australian|Austrian|Brazilian|British|Canadian|Catholic|Chinese|Christian|Dutch|English|French|German|Greek|Indian|Irish|Italian|Japanese|Jewish|Korean|Mexican|Muslim|Polish|Russian|Spanish|Swedish|Swiss|Turkish|Ukrainian|Vegan|Vegetarian)\b)/u,
    "$1my name is ",
  ],
  [/\b[Mm]y name is (\p{Lu}\p{L}+)\. (?=\p{Lu}\p{L}+ \1\b)/gu, "my name is "],
  [/我(?:的名字)?(?:不叫|不是叫|不是|的名字不是)(\p{Script=Han}{1,4})[，,] ?(?:我?(?:是叫|叫|而是叫))(?=\p{Script=Han})/gu, "我叫"],
  [/我的名字不(?:是|叫)(\p{Script=Han}{1,4})[，,] ?(?:我?(?:是|叫|而是|应该是))(?=\p{Script=Han})/gu, "我的名字是"],
];

/** The same text in fewer ways of writing it: short forms written out ("I'm", "dont"), corrections as what they come to. */
export function plainWording(text: string): string {
  return WORDINGS.reduce((plain, [written, as]) => plain.replace(written, as), text);
}
