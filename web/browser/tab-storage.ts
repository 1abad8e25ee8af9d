const PREFIX = "conversation-graph.";

/** Null when nothing is stored, or storage is off. */
export function readTab<Value>(name: string): Value | null {
  try {
    const text = sessionStorage.getItem(PREFIX + name);
    return text === null ? null : (JSON.parse(text) as Value);
  } catch {
    return null;
  }
}

/** Null removes the value. False when there is no room. */
export function writeTab(name: string, value: unknown): boolean {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + name);
    else sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function readChoice(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Null removes the choice. Without storage it lasts as long as the page. */
export function writeChoice(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // no storage
  }
}
