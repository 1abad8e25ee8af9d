const ENGLISH = new Set(
  `a absolutely afternoon again ah all alright always am amazing and anytime are awesome be bye care catch cheers come congrats
congratulations cool course day definitely do done enjoy evening exactly excellent fantastic fine for friend fun funny glad go good goodbye
goodnight got great guess ha haha hahaha have hear hehe hello help helpful helps hey hi hmm hope how i idea indeed interesting is it just
know later let lol lot lots love lovely luck made makes many maybe me mean mhm morning much my nice night no nope now of off oh ok okay on one perfect
please pleasure point pretty problem really right same see sense so soon sorry sounds super sure sweet take talk thank thanks that the then
there things think this thx to today too totally true trust up very wait was welcome well what will wish wonderful worries worry wow
would yay yeah yep yes you your yup s m re ll ve d t don doing day tell day much very wow weekend`.split(/\s+/),
);
const CHINESE =
  /不好意思|没什么|没问题|没关系|不客气|不用谢|太好了|太棒了|知道了|明白了|辛苦了|有意思|哪里哪里|在不在|吃了吗|对不起|原来如此|是这样|听起来|好主意|这样啊|可不是|早上好|下午好|中午好|晚上好|谢谢|多谢|感谢|好的|好吧|好呀|好啊|行吧|可以|没事|你好|您好|大家|再见|拜拜|晚安|早安|回见|回头见|哈+|呵+|嘿+|嘻+|真的|真是|确实|当然|不错|挺好|很好|真好|太好|真棒|收到|明白|知道|了解|懂了|抱歉|加油|厉害|是的|对的|没错|嗯+|哦+|噢+|喔+|额+|呃+|唉+|哎+|哇+|[好行对是啊呀呢吧嘛吗么了的您你我太很真都就那也聊棒哟啦嗨喂]/gu;
const LONGEST = 120;
const HAN = /\p{Script=Han}/u;

/** Whether a sentence only greets, thanks, agrees or laughs: "Thanks a lot!", "好的，谢谢你". */
export function isSmallTalk(sentence: string): boolean {
  if (sentence.length > LONGEST || /\d/.test(sentence)) return false;
  const words = sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.every((word) => (HAN.test(word) ? word.replace(CHINESE, "") === "" : ENGLISH.has(word)));
}
