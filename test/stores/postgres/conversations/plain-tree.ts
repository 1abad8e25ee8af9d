export type Role = "user" | "assistant";
type Place = Pick<TreeMessage, "at" | "id">;

export interface TreeMessage {
  id: string;
  role: Role;
  isWhole: boolean;
  /** When it was said, in milliseconds. */
  at: number;
  parent: TreeMessage | null;
  /** Of an answer. */
  question: TreeMessage | null;
  talk: Talk;
  branch: number;
  /** It keeps its place: what is imported goes before or behind it. */
  isErased: boolean;
}

const compare = (one: Place, other: Place): number => one.at - other.at || (one.id < other.id ? -1 : Number(one.id > other.id));

const visible = (message: TreeMessage | null): TreeMessage | null => (message?.isErased ? visible(message.parent) : message);

/** One conversation: branches of the tree. */
export interface Talk {
  id: string;
  sessionId: string;
  /** The last message that a fork shares. */
  base: TreeMessage | null;
  /** Conversations whose messages a fork shares. */
  sources: Set<Talk>;
  branches: { id: string; head: TreeMessage | null }[];
  active: number;
  /** Where the summary ends. */
  cover: TreeMessage | null;
  /** Where its kept versions end, oldest first. */
  kept: TreeMessage[];
  snapshots: { id: string; head: TreeMessage }[];
  isErasedFrom: boolean;
}

/** The conversations of one user as a plain tree of messages, and what may be remembered of them. */
export class PlainTree {
  readonly talks: Talk[] = [];
  private readonly all: TreeMessage[] = [];

  add(id: string, sessionId: string, base: TreeMessage | null = null, from: Talk | null = null): Talk {
    const sources = new Set<Talk>();
    for (let shared = base; shared; shared = shared.parent) if (this.talks.includes(shared.talk)) sources.add(shared.talk);
    const talk: Talk = {
      ...{ id, sessionId, base, sources, active: 0, cover: null, kept: [], snapshots: [] },
      branches: [{ id, head: base }],
      isErasedFrom: from?.isErasedFrom ?? false,
    };
    this.talks.push(talk);
    if (from) {
      talk.kept = from.kept.filter((end) => this.path(talk).includes(end)).slice(-1);
      talk.cover = talk.kept.at(-1) ?? null;
    }
    return talk;
  }

  private chain(talk: Talk, branch: number): TreeMessage[] {
    const chain: TreeMessage[] = [];
    for (let message = talk.branches[branch]?.head ?? null; message; message = message.parent) chain.unshift(message);
    return chain;
  }

  path(talk: Talk, branch = talk.active): TreeMessage[] {
    return this.chain(talk, branch).filter(({ isErased }) => !isErased);
  }

  private sharedBy({ base }: Talk): TreeMessage[] {
    const shared: TreeMessage[] = [];
    for (let message = base; message; message = message.parent) shared.unshift(message);
    return shared;
  }

  /** Of all its branches, and what it shares. */
  messagesOf(talk: Talk): TreeMessage[] {
    return [...this.sharedBy(talk), ...this.all.filter((message) => message.talk === talk)].filter(({ isErased }) => !isErased);
  }

  has(id: string): boolean {
    return this.all.some((message) => message.id === id);
  }

  answers(): TreeMessage[] {
    return this.all.filter(({ role, isWhole, isErased }) => role === "assistant" && isWhole && !isErased);
  }

  questions(): TreeMessage[] {
    return this.all.filter(({ role, isErased }) => role === "user" && !isErased);
  }

  isOnAnyPath(message: TreeMessage): boolean {
    return this.talks.some((talk) => this.path(talk).includes(message));
  }

  say(talk: Talk, said: { id: string; role: Role; at: number; isWhole?: boolean; question?: TreeMessage | null }): TreeMessage {
    const branch = talk.branches[talk.active];
    if (!branch) throw new Error("there is no branch");
    const { isWhole = true, question = null } = said;
    branch.head = { ...said, isWhole, question, parent: branch.head, talk, branch: talk.active, isErased: false };
    this.all.push(branch.head);
    return branch.head;
  }

  /** A new branch, which becomes the active one. */
  leave(talk: Talk, id: string, head: TreeMessage | null): void {
    this.switch(talk, talk.branches.push({ id, head }) - 1);
  }

  switch(talk: Talk, branch: number): void {
    if (talk.active === branch) return;
    talk.active = branch;
    const path = this.path(talk);
    talk.cover = talk.kept.findLast((end) => path.includes(end)) ?? null;
  }

  summarise(talk: Talk, through: TreeMessage): void {
    talk.cover = through;
    talk.kept.push(through);
  }

  /** A message of an older time takes its place on the path. A fork shares its beginning as it is: false, nothing may come into that. */
  insert(talk: Talk, said: Pick<TreeMessage, "id" | "role" | "at" | "question">): boolean {
    if (talk.base && talk.sources.size > 0 && said.at <= talk.base.at) return false;
    const next = this.chain(talk, talk.active).find((message) => message.talk === talk && compare(said, message) < 0);
    if (next) {
      const message = { ...said, isWhole: true, parent: next.parent, talk, branch: next.branch, isErased: false };
      this.all.push(message);
      next.parent = message;
    } else {
      this.say(talk, said);
    }
    this.outdate(talk, said.at);
    return true;
  }

  /** Takes a question and all its answers out, from every path. */
  erase(question: TreeMessage): void {
    const gone = this.all.filter((message) => message === question || message.question === question);
    for (const message of gone) message.isErased = true;
    for (const talk of this.talks) talk.isErasedFrom ||= gone.some((message) => message.talk === talk || talk.sources.has(message.talk));
    this.outdate(question.talk, question.at, question);
  }

  eraseTalk(talk: Talk): void {
    for (const message of this.all) message.isErased ||= message.talk === talk || message.question?.talk === talk;
    this.outdate(talk, -Infinity);
    for (const other of this.talks) if (other.sources.delete(talk)) other.isErasedFrom = true;
    this.talks.splice(this.talks.indexOf(talk), 1);
  }

  /** Summaries end before what has changed; a fork that shares it has none. */
  private outdate(talk: Talk, from: number, erased?: TreeMessage): void {
    talk.kept = talk.kept.filter(({ at }) => at < from);
    if (talk.cover && talk.cover.at >= from) talk.cover = null;
    for (const fork of this.talks) {
      const isShared = erased ? this.sharedBy(fork).includes(erased) : (fork.base?.at ?? -Infinity) >= from;
      if (fork.sources.has(talk) && isShared) [fork.kept, fork.cover] = [[], null];
    }
  }

  /** Where a turn that takes something back leaves. */
  placeOf(way: "editOf" | "regenerate" | "behind" | "again", from: TreeMessage): TreeMessage | null {
    if (way === "editOf") return visible(from.parent);
    return way === "regenerate" ? from.question : from;
  }

  /** What follows the same message in its conversation. */
  versions(talk: Talk, of: TreeMessage): string[] {
    const beside = this.messagesOf(talk).filter(({ parent, role }) => parent === of.parent && role === of.role);
    return beside.sort(compare).map(({ id }) => id);
  }

  /** Of a question without an answer on the path: those that follow it elsewhere. */
  otherAnswers(talk: Talk, branch: number, of: TreeMessage): string[] {
    const answers = this.messagesOf(talk).filter(({ parent, role }) => of.role === "user" && parent === of && role === "assistant");
    const path = this.path(talk, branch);
    return answers.some((one) => path.includes(one)) ? [] : answers.sort(compare).map(({ id }) => id);
  }
}
