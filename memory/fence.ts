/** Remembered text between tags of its own, which it cannot close or open again: to the model it is data, whatever it says. */
export function fence(tag: string, text: string): string {
  const harmless = text.replace(new RegExp(`<(?=\\s*(?:/\\s*)?${tag})`, "giu"), "‹");
  return `<${tag}>\n${harmless}\n</${tag}>`;
}
