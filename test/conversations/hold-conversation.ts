import type { TurnResult } from "../../turn/events.ts";
import { callApi, listConversations, postJson, putJson } from "../support/clients/api-client.ts";
import { contentOf, postTurn } from "../support/clients/event-client.ts";
import { succeeds, waitUntil } from "../support/wait-until.ts";
import type { Conversation, Step } from "./read-conversations.ts";

export interface Place {
  url: string;
  /** While it is away, what a turn leaves to the index waits. */
  isEmbedderAway: () => boolean;
  bringEmbedderBack: () => void;
}

type Answer = { refused: string } | { refused: null; route: string; done: TurnResult };

const EXPECTED = /^(?<name>not|route|cites|degraded|refused): (?<value>.+)$/u;

/** What of an answer is not as a line of the table says. */
function problemsOf(line: string, answer: Answer): string[] {
  return line.split("; ").flatMap((part) => {
    const { name = "holds", value = part } = EXPECTED.exec(part)?.groups ?? {};
    const seen = look(name, value, answer);
    return seen === null ? [] : [`${part}, but: ${seen}`];
  });
}

/** Null when it is so. */
function look(name: string, value: string, answer: Answer): string | null {
  if (name === "refused" || answer.refused !== null) return answer.refused === value ? null : (answer.refused ?? "answered");
  const { done, route } = answer;
  const titles = done.receipt.passages.map(({ title }) => title);
  const seen: Record<string, [isSo: boolean, shown: string]> = {
    holds: [done.answer.includes(value), done.answer],
    not: [!done.answer.includes(value), done.answer],
    route: [route === value, route],
    cites: [titles.includes(value), titles.join(", ") || "nothing"],
    degraded: [(done.degraded.join(", ") || "none") === value, done.degraded.join(", ") || "none"],
  };
  const [isSo, shown] = seen[name] ?? [false, `there is no ${name}`];
  return isSo ? null : shown;
}

/** Holds a conversation and returns what was not as it should be, by line of the file. */
export async function holdConversation({ title, steps }: Conversation, place: Place): Promise<string[]> {
  const { url } = place;
  const problems: string[] = [];
  let last: Answer | null = null;
  const userOf = (name: string): string => (name === "" ? title : `${name}, ${title}`);
  const memory = `${url}/api/v1/users/${encodeURIComponent(title)}`;

  async function settle(user: string): Promise<void> {
    for (const { id } of place.isEmbedderAway() ? [] : await listConversations(url, user))
      await postJson(`${url}/api/v1/conversations/${id}/settle?timeout_ms=50000`, {});
  }

  async function say({ text, user, session, kb }: Step): Promise<Answer> {
    const body = { user_id: userOf(user), session_id: session, message: text, ...(kb === null ? {} : { kb_prefix: kb }) };
    const { events, json } = await postTurn(url, body);
    if (json) return { refused: json.error.code };
    const answer = { refused: null, route: contentOf(events, "route_decision").kb_prefix, done: contentOf(events, "done") };
    await settle(userOf(user));
    return answer;
  }

  async function act(text: string): Promise<void> {
    const [, verb = "", what = ""] = /^(erase session|forget section|write|embedder|erase) (.+)$/u.exec(text) ?? [];
    const [section = "", content = ""] = what.split(/: (.*)/u);
    if (verb === "embedder") place.bringEmbedderBack();
    else if (verb === "write") await putJson(`${memory}/core-memory/${section}`, { content });
    else if (verb === "forget section") await callApi(`${memory}/core-memory/${what}`, { method: "DELETE" });
    else if (verb === "erase") await callApi(memory, { method: "DELETE" });
    else {
      const found = (await listConversations(url, title)).find(({ session_id }) => session_id === what);
      await callApi(`${url}/api/v1/conversations/${found?.id}`, { method: "DELETE" });
    }
    await settle(title);
  }

  async function known(): Promise<string> {
    const { json } = await callApi<{ sections: { content: string }[] }>(`${memory}/core-memory`);
    const lines = json.sections.flatMap(({ content }) => content.split("\n")).filter((line) => line !== "");
    return lines.join("; ") || "nothing";
  }

  async function run(step: Step): Promise<string[]> {
    if (step.kind === "say") last = await say(step);
    if (step.kind === "do") await act(step.text);
    if (step.kind === "answer") return last ? problemsOf(step.text, last) : ["nothing was said"];
    if (step.kind !== "memory") return [];
    // Jobs of core memory end by themselves also where nothing waits for them.
    await succeeds(waitUntil("core memory", async () => (await known()) === step.text, 5_000));
    const now = await known();
    return now === step.text ? [] : [`core memory: ${now}`];
  }

  for (const step of steps) problems.push(...(await run(step)).map((problem) => `line ${step.line}: ${problem}`));
  return problems;
}
