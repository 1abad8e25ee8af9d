const PREFIX = "conversation-graph.";

/** What is kept for this tab under a name; null when there is nothing, or a browser keeps nothing. */
export function readTab<Value>(name: string): Value | null {
  try {
    const text = sessionStorage.getItem(PREFIX + name);
    return text === null ? null : (JSON.parse(text) as Value);
  } catch {
    return null;
  }
}

/** Keeps a value for this tab; null removes it. Says whether there was room for it. */
export function writeTab(name: string, value: unknown): boolean {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + name);
    else sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** A choice kept in this browser; null when there is none. */
export function readChoice(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Keeps a choice in this browser; null removes it. Without storage the choice lasts as long as the page. */
export function writeChoice(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // nothing to keep it in
  }
}
