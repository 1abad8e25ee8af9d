/** Words that say nothing by themselves around a greeting or thanks. */
const ENGLISH_FILLER =
  /^(?:oh|well|so|and|very|much|really|a|lot|all|again|then|too|to|you|there|everyone|everybody|my|dear|friend|assistant|bot|for|your|the|help|that|this|now|today)$/;
const ENGLISH_TALK =
  /\b(?:good (?:morning|afternoon|evening|night|day)|how (?:are|is it|are things|'s it) (?:you|going)(?: doing)?|what'?s up|nice to (?:meet|see) you|see you(?: (?:later|soon|tomorrow))?|have a (?:nice|good|great) (?:day|evening|weekend)|thank you|thanks|thx|cheers|hi|hello|hey|bye|goodbye|good ?night|you'?re welcome|never ?mind|got it|i see|ok(?:ay)?|yes|yeah|no|sure|great|cool|perfect|nice|wonderful|awesome|haha+|lol|sorry)\b/g;
const CHINESE_TALK =
  /(?:大家|你们?|您)?(?:早上好|上午好|中午好|下午好|晚上好|早安|晚安|早啊?|你好|您好|大家好|嗨|哈[喽啰]|在吗|最近(?:怎么样|还好吗|好吗)|吃了吗|好久不见|谢谢|多谢|感谢|谢了|辛苦了?|麻烦了|不客气|没关系|没事|对不起|不好意思|抱歉|再见|拜拜|回头见|明天见|好的?|行|可以|嗯+|哦+|是的|对的?|不用了?|知道了|明白了|懂了|收到|哈{2,}|嘻{2,}|太好了|真棒|不错)/g;
const CHINESE_FILLER = /^[你您们啊呀呢吧哦嗯啦吗了的哈很非常太真都大家那就先老师朋友帮忙你的]*$/u;
/** A longer message says something else as well. */
const LONGEST = 60;

/**
 * Whether a message is only a greeting, thanks or the like. No document answers it, so no model is asked which. A miss is cheap; a question
 * taken for a courtesy is not. So it must hold such a phrase, and every other word must be filler. Memory asks less: text/small-talk.ts.
 */
export function isCourtesy(message: string): boolean {
  const text = message.normalize("NFKC").toLowerCase().replaceAll("’", "'");
  if (text.length > LONGEST || /\d/.test(text)) return false;
  const words = text.replace(/[^\p{L}\p{N}' ]+/gu, " ").trim();
  if (words === "") return true;
  const left = words.replace(ENGLISH_TALK, " ").replace(CHINESE_TALK, " ");
  if (left === words) return false;
  return left
    .split(/\s+/)
    .filter((word) => word !== "")
    .every((word) => ENGLISH_FILLER.test(word) || CHINESE_FILLER.test(word));
}
