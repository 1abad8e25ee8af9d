/** Tags between which remembered text stands in prompts: none of them may be opened or closed by any of it. */
const KNOWN_TAGS = [
  "core_memory",
  "conversation_summary",
  "earlier_exchanges",
  "passages",
  "earlier_summary",
  "user_message",
  "assistant_message",
];

/** What begins a tag, or a control token as chat templates write them: `<|im_start|>`. */
function breakingOut(tag: string): RegExp {
  const names = [...new Set([tag, ...KNOWN_TAGS])].join("|");
  return new RegExp(`<(?=\\s*(?:/\\s*)?(?:${names})|\\s*\\|)`, "giu");
}

/** Remembered text between tags, which it cannot close, nor open others: to the model it is data, whatever it says. */
export function fence(tag: string, text: string): string {
  return `<${tag}>\n${text.replace(breakingOut(tag), "‹")}\n</${tag}>`;
}
