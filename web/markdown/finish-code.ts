/** Characters. Longer code stays plain. */
const LONGEST = 20_000;

/** The code block's text for a click on its copy button, else null. */
export function codeToCopy(target: EventTarget | null): string | null {
  const button = target instanceof Element ? target.closest("button.copy-code") : null;
  return button?.parentElement?.querySelector("pre")?.textContent ?? null;
}

export function addCopyButtons(block: HTMLElement, label: string): void {
  if (!isSecureContext) return; // only there is a clipboard
  for (const code of block.querySelectorAll("pre")) {
    if (code.parentElement?.classList.contains("code-block")) continue;
    const holder = document.createElement("div");
    holder.className = "code-block";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code quiet-button";
    button.textContent = label;
    code.tabIndex = 0; // it may scroll
    code.replaceWith(holder);
    holder.append(code, button);
  }
}

/** Colours code whose language is named. The first such block loads the script. */
export async function colourCode(block: HTMLElement, language: string | undefined): Promise<void> {
  const code = block.querySelector("pre > code");
  const text = code?.textContent ?? "";
  if (!code || !language || text.length > LONGEST) return;
  const { highlight } = await import("./highlight.ts").catch(() => ({ highlight: () => null })); // then it stays plain
  const coloured = highlight(text, language);
  if (coloured && code.textContent === text) code.replaceChildren(coloured);
}
