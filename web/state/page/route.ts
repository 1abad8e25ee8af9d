import { signal } from "@preact/signals";

export type View = "chat" | "memory" | "documents" | "agents" | "service";

/** Where the page is: `#/chat`, `#/chat/CONVERSATION`, `#/chat/CONVERSATION/MESSAGE`, `#/memory/TAB`, `#/documents/KNOWLEDGE-BASE`, `#/agents/TAB`, `#/service`. */
export interface Place {
  view: View;
  conversationId: string | null;
  messageId: string | null;
  tab: string | null;
}

function readAddress(): Place {
  const [view, first, second] = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  if (view === "memory" || view === "documents" || view === "agents")
    return { view, conversationId: null, messageId: null, tab: first || null };
  if (view === "service") return { view, conversationId: null, messageId: null, tab: null };
  return { view: "chat", conversationId: first || null, messageId: second || null, tab: null };
}

export const place = signal<Place>(readAddress());
addEventListener("hashchange", () => (place.value = readAddress()));

export const chatAddress = (conversationId?: string | null, messageId?: string | null): string =>
  `#/${["chat", conversationId, messageId]
    .filter((piece) => typeof piece === "string")
    .map(encodeURIComponent)
    .join("/")}`;

export const viewAddresses = (conversationId: string | null): Record<View, string> => ({
  chat: chatAddress(conversationId),
  memory: "#/memory/core",
  documents: "#/documents",
  agents: "#/agents",
  service: "#/service",
});

export function goTo(address: string): void {
  if (location.hash === address) place.value = readAddress();
  else location.hash = address;
}

/** Changes the address without a new history entry. */
export function renamePlace(address: string): void {
  history.replaceState(null, "", address);
  place.value = readAddress();
}
