function toButton(number: string, label: string): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "cite";
  button.dataset["cite"] = number;
  button.setAttribute("aria-label", label);
  button.textContent = number;
  return button;
}

/** A text with buttons for known numbers; null without any. */
function linked(text: string, labels: ReadonlyMap<number, string>): DocumentFragment | null {
  const parts = new DocumentFragment();
  let from = 0;
  for (const match of text.matchAll(CITED)) {
    const numbers = match[1]?.match(/\d+/g) ?? [];
    if (!numbers.every((number) => labels.has(Number(number)))) continue;
    parts.append(text.slice(from, match.index), ...numbers.map((number) => toButton(number, labels.get(Number(number)) ?? number)));
    from = match.index + match[0].length;
  }
  if (from === 0) return null;
  parts.append(text.slice(from));
  return parts;
}

/** Makes citations such as [1] in a rendered block buttons, except in code and links. */
export function linkCitations(block: HTMLElement, labels: ReadonlyMap<number, string>): void {
  if (labels.size === 0) return;
  const texts: Text[] = [];
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest("a, code, pre, button")) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const parts = linked(text.data, labels);
    if (parts) text.replaceWith(parts);
  }
}

/** [1], [1, 2], 【1】 and what a Chinese keyboard writes between numbers. */
export const CITED = /[[【［]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]】］]/gu;
