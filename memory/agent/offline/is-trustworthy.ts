/** Marks of a message that would command memory or the assistant; nothing in such a message is taken for a fact. */
const HOSTILE = [
  /<\s*\/?\s*[a-z_|!?]|\{\{|\}\}|\{%|<\||\|>|\[\/?INST\]|\$\{/iu,
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|all|your|system)\b.{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines|context)\b/iu,
  /(?:^|[\n.!?。！？]\s*)\s*(?:system|assistant|developer|user|human|系统|助手|用户|管理员)\s*(?:prompt|message|提示|消息)?\s*[:：]/iu,
  /\b(?:core[_ ]memory|system prompt|developer mode|jailbreak|you are now|you are (?:dan|no longer)|act as)\b/iu,
  /\b(?:set|update|change|write|append|overwrite)\b.{0,20}\b(?:profile|memory|preferences|constraints) (?:to|with|section)\b/iu,
  /(?:忽略|无视|忘记|忘掉|不要理会|绕过).{0,10}(?:之前|以上|上面|前面|所有|一切|系统).{0,10}(?:指令|提示|规则|要求|设定|命令)|系统提示|核心记忆|越狱|你现在是|从现在起你/u,
  /\bignore\b.{0,20}\binstructions\b|\bremember that (?:you|the (?:assistant|ai|model|bot))\b|\byou must (?:always|never|obey|now)\b/iu,
];
/** Marks of a text that is not meant: fiction, a game, mockery, or words that are only to be worked on. */
const NOT_MEANT = [
  /\b(?:pretend|role[- ]?play(?:ing)?|let's play|imagine|in (?:my|the|this|our) (?:story|novel|game|book|dream|campaign|script|world)|my character|once upon a time|dungeons|d&d|as a joke|just kidding|i was kidding)\b/iu,
  /\b(?:write|compose|draft|continue|generate|make up|create)\b.{0,30}\b(?:stor(?:y|ies)|poems?|songs?|lyrics|novel|dialogues?|monologue|scene|script|bio(?:graphy)?|essay|haiku|limerick|tweet|caption|letter|e-?mail)\b/iu,
  /\b(?:translat\w+|proof-?read\w*|paraphras\w+|rephras\w+|summari[sz]\w+|rewrite|rewrit\w+|transcribe)\b|\b(?:correct|fix|check|edit|improve|polish|analy[sz]e|explain|parse|debug)\b.{0,25}\b(?:grammar|sentences?|text|paragraph|this|the following|code|email|spelling|essay)\b|\b(?:the|this|following) sentence\b|\bfor example,? i\b|\bexample sentences?\b/iu,
  /\byeah,? right\b|\b(?:oh|ah),? (?:great|sure|wonderful|fantastic|lovely|brilliant)\b|\bas if\b|(?:^|\s)\/s\b|🙄|🙃|\bsarcasm\b|\bjust love (?:it when|when|how|waiting|being)\b|\bnot!\s*$|\bsaid no one\b/iu,
  /假装|假扮|扮演|角色扮演|在我的(?:小说|故事|梦|游戏|剧本)|我的(?:小说|故事|梦)里|想象一下|梦见|开玩笑|逗你|骗你/u,
  /(?:写|编|续写|创作|生成)(?:一|个|篇|首|段|几|封|点)?[^，。]{0,8}(?:诗|故事|作文|小说|歌词|剧本|文章|对话|段子|信|邮件|文案|日记|自我介绍)|翻译|造句|改写|润色|总结(?:一下|下|以下|这)|校对|例句|修改(?:这|下面|以下)|这句话|语法|帮我改/u,
  // What is done between brackets or stars is done on a stage.
  /^\s*[（(][^（）()]{1,30}[）)]\s*\S|(?<![*\p{L}])\*[\p{L} ]{4,40}\*(?!\*)/u,
  /呵呵|才怪|我可太|可真(?:是)?喜欢|好极了|真是谢谢|谢谢你全家|\[狗头\]|\/狗头/u,
];

/** False for a message that gives orders to the memory, and for one whose "I" is not its writer or not serious. */
export function isTrustworthy(message: string): boolean {
  return ![...HOSTILE, ...NOT_MEANT].some((mark) => mark.test(message));
}
