import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import type { Database } from "../../../stores/postgres/database/database.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { PlainTree, type Talk, type TreeMessage } from "../../stores/postgres/conversations/plain-tree.ts";
import { type ApiResponse, callApi } from "../../support/clients/api-client.ts";
import type { openTwoPlaces } from "./two-places.ts";

/** Enough for any request here, before and after. */
const STATEMENTS = 10;
const PATIENCE_MS = 120_000;

type Way = "turn" | "edit_of" | "regenerate";

export interface KilledStep {
  do: Way | "both" | "switch" | "snapshot" | "restore" | "fork" | "import" | "erase" | "eraseAll";
  in: number;
  at: number;
  /** What becomes of an answer, when nobody is killed. */
  ending: "whole" | "cut" | "none";
  /** Which process is asked first. */
  place: number;
  /** At which statement of the step that one is killed; null: it is not. */
  blow: number | null;
}

const what = fc.constantFrom<KilledStep["do"]>(
  ...(["turn", "turn", "edit_of", "edit_of", "regenerate", "regenerate", "both", "switch", "switch"] as const),
  ...(["snapshot", "restore", "fork", "import", "erase", "eraseAll"] as const),
);
const blow = fc.option(fc.nat(2 * STATEMENTS - 1), { freq: 2 });
const ending = fc.constantFrom<KilledStep["ending"]>("whole", "whole", "whole", "cut", "none");

export const killedStep: fc.Arbitrary<KilledStep> = fc.record({ do: what, in: fc.nat(9), at: fc.nat(99), ending, place: fc.nat(1), blow });

const STORED = `
select messages.id, messages.created_at as "createdAt", role, completed from messages join conversations on conversations.id = conversation_id
where user_id = $1 and (messages.id = $2::uuid or content = $3 or messages.metadata->>'external_id' = any($4)) order by messages.created_at, messages.id`;
const LAST_ANSWER = "select answer_id as id from turns where question_id = $1 and answer_id is not null order by started_at desc limit 1";
const NEW_BRANCHES = "select id from branches where conversation_id = $1 and id <> all($2) order by created_at, id";

interface StoredRow {
  id: string;
  createdAt: Date;
  role: TreeMessage["role"];
  completed: boolean;
}

type Places = Awaited<ReturnType<typeof openTwoPlaces>>;

const chosen = <Item>(items: readonly Item[], number: number): Item | undefined => items[number % Math.max(1, items.length)];

/** The fact that a question tells. */
export const fruitIn = (question: string): string => /fruit\d+q/.exec(question)?.[0] ?? "none";

/** Does steps with two processes, of which one may be killed in each step, and in a plain tree. What is asked is repeated until it is answered. */
export function makeKilledGrower(
  { places, armed }: Pick<Places, "places" | "armed">,
  database: Database,
  answerWith: (script: ModelScript) => void,
) {
  const tree = new PlainTree();
  const owner = { tenantId: "default", userId: `ada ${uuidv7()}` };
  let said = 0;

  /** Until it is answered; `isFinal` are statuses that are an answer, too. */
  async function ask<Body>(
    first: number,
    method: string,
    path: string,
    body?: object,
    isFinal: readonly number[] = [],
    key = uuidv7(),
  ): Promise<ApiResponse<Body>> {
    const headers = { "content-type": "application/json", "idempotency-key": key };
    const end = performance.now() + PATIENCE_MS;
    for (let number = first; ; number++) {
      const address = `${places[number % 2 === 0 ? 0 : 1].service.url}/api/v1/${path}`;
      const answer = await callApi<Body>(address, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }).catch(() => null);
      if (answer && (answer.status < 300 || isFinal.includes(answer.status))) return answer;
      if (answer && answer.status < 500 && answer.status !== 409) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      if (performance.now() > end) throw new Error(`${method} ${path} was not answered in time: ${answer?.text ?? "broken off"}`);
      await sleep(100);
    }
  }

  const stored = (id: string | null, content: string | null, externalIds: string[] = []): Promise<StoredRow[]> =>
    database.query<StoredRow>({ text: STORED, values: [owner.userId, id, content, externalIds] });

  const newBranches = async (talk: Talk): Promise<string[]> => {
    const values = [talk.id, talk.branches.map(({ id }) => id)];
    return (await database.query<{ id: string }>({ text: NEW_BRANCHES, values })).map(({ id }) => id);
  };

  interface Asked {
    way: Way;
    from: TreeMessage | undefined;
    sessionId: string;
    message: string;
  }

  const toAsk = (talk: Talk | undefined, way: Way, from: TreeMessage | undefined): Asked => {
    return { way: from ? way : "turn", from, sessionId: talk?.sessionId ?? uuidv7(), message: `I like fruit${said++}q.` };
  };

  function send(first: number, { way, from, sessionId, message }: Asked, isFinal: readonly number[]) {
    const taken = way !== "turn" && from ? { [way]: from.id } : {};
    const body = {
      user_id: owner.userId,
      session_id: sessionId,
      on_busy: "enqueue",
      ...(way === "regenerate" ? {} : { message }),
      ...taken,
    };
    return ask<{ conversation_id: string; message_id: string }>(first, "POST", "chat", body, isFinal);
  }

  /** Takes over what a turn has stored. */
  async function record(talk: Talk, { way, from, message }: Asked, branchId: string | undefined): Promise<void> {
    if (way !== "turn" && from) tree.leave(talk, branchId ?? "no branch", tree.placeOf(way === "edit_of" ? "editOf" : way, from));
    const [asked] = way === "regenerate" ? [] : await stored(null, message);
    if (asked) tree.say(talk, { id: asked.id, role: "user", at: asked.createdAt.getTime() });
    const question = tree.path(talk).at(-1);
    if (!question) throw new Error(`${message} is not stored`);
    const [last] = await database.query<{ id: string }>({ text: LAST_ANSWER, values: [question.id] });
    const [answer] = last ? await stored(last.id, null) : [];
    if (!answer || tree.has(answer.id)) return;
    tree.say(talk, { id: answer.id, role: "assistant", at: answer.createdAt.getTime(), isWhole: answer.completed, question });
  }

  async function say(talk: Talk | undefined, step: KilledStep, way: Way, from: TreeMessage | undefined): Promise<void> {
    const isWhole = step.ending === "whole" || step.blow !== null;
    if (!isWhole) answerWith(step.ending === "cut" ? { tokens: ["Half an answer"], ending: "cut" } : { status: 500 });
    const asked = toAsk(talk, way, from);
    const { json } = await send(step.place, asked, isWhole ? [] : [500, 502, 503, 504]);
    answerWith({});
    const id = json.conversation_id ?? (await conversationOf(asked.sessionId));
    await record(talk ?? tree.add(id, asked.sessionId), asked, talk && (await newBranches(talk))[0]);
  }

  const conversationOf = async (sessionId: string): Promise<string> => {
    const find = { text: "select id from conversations where user_id = $1 and session_id = $2", values: [owner.userId, sessionId] };
    return (await database.query<{ id: string }>(find))[0]?.id ?? "no conversation";
  };

  /** Two turns at once, at both processes: one after the other in either order. */
  async function sayBoth(talk: Talk, step: KilledStep): Promise<void> {
    const question = chosen(
      tree.messagesOf(talk).filter(({ role }) => role === "user"),
      step.at,
    );
    const both = [toAsk(talk, "turn", undefined), toAsk(talk, "edit_of", question)];
    await Promise.all(both.map((one, number) => send(step.place + number, one, [])));
    const times = await Promise.all(both.map(async (one) => (await stored(null, one.message))[0]?.createdAt.getTime() ?? NaN));
    const inOrder = (times[0] ?? 0) < (times[1] ?? 0) ? both : both.toReversed();
    for (const one of inOrder) await record(talk, one, one.way === "turn" ? undefined : (await newBranches(talk))[0]);
  }

  async function bring(talk: Talk, { at, place }: KilledStep): Promise<void> {
    const beside = chosen(tree.path(talk), at);
    const ids = [uuidv7(), uuidv7()];
    const created_at = new Date(at % 3 === 0 ? 1_000_000_000_000 + said : (beside?.at ?? 2_000)).toISOString();
    const messages = ids.map((external_id, number) => {
      return { role: number === 0 ? "user" : "assistant", content: `I like fruit${said++}q.`, created_at, metadata: { external_id } };
    });
    const body = { user_id: owner.userId, session_id: talk.sessionId, messages };
    await ask(place, "POST", "conversations/import", body, [400]);
    const [asked, answer] = await stored(null, null, ids);
    if (!asked || !answer) {
      if (tree.insert(talk, { id: "none", role: "user", at: Date.parse(created_at), question: null }))
        throw new Error("nothing was imported");
      return;
    }
    tree.insert(talk, { id: asked.id, role: "user", at: asked.createdAt.getTime(), question: null });
    const question = tree.path(talk).find(({ id }) => id === asked.id) ?? null;
    tree.insert(talk, { id: answer.id, role: "assistant", at: answer.createdAt.getTime(), question });
  }

  async function run(step: KilledStep): Promise<void> {
    const talk = chosen(tree.talks, step.in);
    const { at, place } = step;
    if (!talk) return say(talk, step, "turn", undefined);
    const own = tree.messagesOf(talk);
    const path = `conversations/${talk.id}`;
    if (step.do === "both") return sayBoth(talk, step);
    if (step.do === "turn" || step.do === "edit_of" || step.do === "regenerate") {
      const role = step.do === "regenerate" ? "assistant" : "user";
      return say(
        talk,
        step,
        step.do,
        step.do === "turn"
          ? undefined
          : chosen(
              own.filter((one) => one.role === role),
              at,
            ),
      );
    }
    if (step.do === "switch") {
      const branch = at % talk.branches.length;
      await ask(place, "PUT", `${path}/active-branch`, { branch_id: talk.branches[branch]?.id });
      tree.switch(talk, branch);
    } else if (step.do === "snapshot") {
      const head = tree.path(talk).at(-1);
      if (head)
        talk.snapshots.push({ id: (await ask<{ id: string }>(place, "POST", `${path}/snapshots`, { label: "here" })).json.id, head });
    } else if (step.do === "restore") {
      const snapshot = chosen(talk.snapshots, at);
      if (!snapshot) return;
      await ask(place, "POST", `${path}/snapshots/${snapshot.id}/restore`, {});
      for (const id of await newBranches(talk)) tree.leave(talk, id, snapshot.head); // whoever asks twice gets two
    } else if (step.do === "fork") {
      const base = chosen(own, at);
      if (!base) return;
      const sessionId = uuidv7();
      await ask(place, "POST", `${path}/fork`, { at: base.id, session_id: sessionId }, [409]);
      tree.add(await conversationOf(sessionId), sessionId, base, talk);
    } else if (step.do === "import") {
      await bring(talk, step);
    } else if (step.do === "erase") {
      const question = chosen(tree.questions(), at);
      if (!question) return;
      await ask(place, "DELETE", `users/${encodeURIComponent(owner.userId)}/episodes/${question.id}`, undefined, [404]);
      tree.erase(question);
    } else {
      await ask(place, "DELETE", path, undefined, [404]);
      tree.eraseTalk(talk);
    }
  }

  return {
    tree,
    owner,
    doStep: async (step: KilledStep): Promise<void> => {
      const disarm = step.blow === null ? null : armed(places[step.place === 0 ? 0 : 1], step.blow);
      await run(step);
      await disarm?.();
    },
    /** Waits until all jobs are done. */
    settle: async (): Promise<void> => {
      for (const { id } of tree.talks) await ask(0, "POST", `conversations/${id}/settle?timeout_ms=30000`, {});
    },
  };
}
