import { setTimeout as sleep } from "node:timers/promises";
import type { Network } from "../../servers/real-client.ts";

interface Listed {
  conversations: { id: string }[];
}

const ANSWER_MS = 20_000;
const PAUSE_MS = 20;
const NO_ID = "00000000-0000-7000-8000-000000000000";
const PIN = { method: "PATCH", headers: { "content-type": "application/json" }, body: '{"pinned":true}' };

const ofConversation = ["", "/messages", "/branches", "/snapshots", "/context", "/summary", "/jobs", "/agents"];
const ofUser = [
  "core-memory",
  "core-memory/profile/history",
  "memory-operations",
  "permissions",
  "decisions",
  "audit",
  "messages?query=message",
  "episodes?query=message",
];
const ofService = ["agents", "skills", "mcp-servers", "knowledge", "status", "settings", "limits", "usage", "jobs", "models"];

/** Reads what there is of a user at every address, and pins the newest conversation, until `isOver`. Gives what was answered with 5xx, each once. */
export async function lookAround(network: Network, userId: string, isOver: () => boolean): Promise<string[]> {
  const faults = new Set<string>();
  const user = encodeURIComponent(userId);

  async function look(address: string, path: string, request: RequestInit = {}): Promise<unknown> {
    try {
      const response = await fetch(`${address}/api/v1/${path}`, { signal: AbortSignal.timeout(ANSWER_MS), ...request });
      const json = (await response.json()) as { error?: { code: string } };
      const where = `${request.method ?? "GET"} ${path.replace(/[0-9a-f-]{36}/, "ID")}`;
      if (response.status >= 500) faults.add(`${response.status} ${json.error?.code} ${where}`);
      return response.ok ? json : null;
    } catch {
      return null; // lines of an export, or the process has ended
    }
  }

  while (!isOver()) {
    for (const address of network.addresses()) {
      const listed = (await look(address, `conversations?user_id=${user}`)) as Listed | null;
      const newest = listed?.conversations[0]?.id ?? NO_ID;
      await look(address, `conversations/${newest}`, PIN);
      const conversation = ofConversation.map((what) => `conversations/${newest}${what}`);
      const paths = [...conversation, ...ofUser.map((what) => `users/${user}/${what}`), `questions?user_id=${user}`, ...ofService];
      for (const path of paths) await look(address, path);
    }
    await sleep(PAUSE_MS);
  }
  return [...faults].sort();
}
