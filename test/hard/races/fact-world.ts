import type { DecideMemory, Reading } from "../../../memory/agent/remember-turns.ts";
import type { Owner } from "../../../stores/owner.ts";
import { makeCoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { contentsOf } from "../../support/samples/core-memory.ts";
import { type Fact, factsIn, SECTIONS, type Step, wordFor } from "./fact-steps.ts";
import { readingAgent } from "../../support/samples/reading-agent.ts";
import { writtenByReadings } from "../../support/samples/sample-reading.ts";

interface Said {
  facts: Fact[];
  /** Those that were not forgotten since. */
  counts: Fact[];
  sessionId: string;
  conversationId: string;
}

interface Line {
  section: string;
  text: string;
}

const pick = <Item>(items: readonly Item[], number: number): Item | undefined => items[number % Math.max(1, items.length)];

/** A user of whom a scripted memory agent learns facts, and what must be known of them and what must not. */
export class FactWorld {
  readonly database: Database;
  readonly owner: Owner;
  private readonly agent;
  private readonly said = new Map<string, Said>();
  /** What a person wrote is in the history for good. */
  private readonly written = new Set<Fact>();
  private readonly forgotten = new Set<Fact>();
  private readonly erased = new Set<Fact>();

  constructor(database: Database) {
    this.database = database;
    this.agent = readingAgent(database);
    this.owner = this.agent.owner;
  }

  private async lines(): Promise<Line[]> {
    const contents = await contentsOf(this.database, this.owner);
    return Object.entries(contents).flatMap(([section, content]) => content.split("\n").map((text) => ({ section, text })));
  }

  private async known(): Promise<Set<Fact>> {
    return new Set((await this.lines()).flatMap(({ text }) => factsIn(text)));
  }

  private async say(facts: Fact[], session: number): Promise<void> {
    const sessionId = `s${session}`;
    const messageId = await this.agent.say(`I say ${facts.map((fact) => wordFor(fact, 0)).join(" ")}.`, sessionId);
    const [row] = await this.database.query<{ id: string }>({
      text: "select conversation_id as id from messages where id = $1",
      values: [messageId],
    });
    this.said.set(messageId, { facts, counts: facts, sessionId, conversationId: row?.id ?? "" });
    facts.forEach((fact) => this.erased.delete(fact));
  }

  /** Has the agent read what was said, and write `lines` in the place of others. */
  private read(rewrite: (reading: Reading, call: (section: string, lines: string[], turns?: unknown) => Promise<string>) => Promise<void>) {
    const decide: DecideMemory = async (reading) => {
      const call = (section: string, lines: string[], turns?: unknown): Promise<string> => {
        const content = lines.join("\n");
        const reason = `because ${content.slice(0, 300)}`;
        return reading.memory.call({ name: "core_memory_update", arguments: { section, content, reason, turns } }, reading.turns);
      };
      await rewrite(reading, call);
    };
    return this.agent.readAll(decide);
  }

  private linesOf({ memory }: Reading, section: string): string[] {
    return (memory.contents()[section] ?? "").split("\n").filter(Boolean);
  }

  /** Learns what the turns say and is not known, a line for each turn; what is known is said again by them. */
  private async learn(section: string, names: "each" | "flat" | "none", language: number): Promise<void> {
    await this.read(async (reading, call) => {
      const contents = Object.entries(reading.memory.contents());
      for (const [known, content] of contents) {
        const lines = content.split("\n");
        const turns = lines.map((line) =>
          reading.turns.flatMap(({ userMessage }, index) =>
            factsIn(userMessage).some((fact) => factsIn(line).includes(fact)) ? [index + 1] : [],
          ),
        );
        if (turns.flat().length > 0) await call(known, lines, turns);
      }
      const known = new Set(contents.flatMap(([, content]) => factsIn(content)));
      const fresh = reading.turns.map(({ userMessage }) => factsIn(userMessage).filter((fact) => !known.has(fact)));
      const added = fresh.map((facts, index) => ({ facts: facts.filter((fact) => !fresh.slice(0, index).flat().includes(fact)) }));
      const texts = added.flatMap(({ facts }) =>
        facts.length > 0 ? [`has ${facts.map((fact) => wordFor(fact, language)).join(" ")}`] : [],
      );
      if (texts.length === 0) return;
      const before = this.linesOf(reading, section);
      const turnsOf = (text: string): number[] =>
        reading.turns.flatMap(({ userMessage }, index) =>
          factsIn(userMessage).some((fact) => factsIn(text).includes(fact)) ? [index + 1] : [],
        );
      const all = [...before, ...texts];
      const turns = {
        each: all.map((text) => (texts.includes(text) ? turnsOf(text) : [])),
        flat: [...new Set(texts.flatMap(turnsOf))],
        none: undefined,
      };
      await call(section, all, turns[names]);
    });
  }

  /** What a line says is not missed any more, unless it is said again. */
  private forget({ text }: Line): void {
    const facts = factsIn(text);
    facts.forEach((fact) => this.forgotten.add(fact));
    for (const said of this.said.values()) said.counts = said.counts.filter((fact) => !facts.includes(fact));
  }

  async take(step: Step): Promise<void> {
    const lines = await this.lines();
    switch (step.do) {
      case "teach":
        for (const { facts, session } of step.turns) await this.say(facts, session);
        return this.learn(SECTIONS[step.section % 3] ?? "profile", step.names, step.language);
      case "reword": {
        const line = pick(lines, step.line);
        if (!line) return;
        await this.say([step.fact], 0);
        await this.read(async (reading, call) => {
          const facts = [...factsIn(line.text), step.fact];
          const text = `is ${facts.map((fact) => wordFor(fact, step.language)).join(" and ")}`;
          const rewritten = this.linesOf(reading, line.section).map((other) => (other === line.text ? text : other));
          await call(
            line.section,
            rewritten,
            rewritten.map((other) => (other === text ? [1] : [])),
          );
        });
        return;
      }
      case "merge": {
        const [one, other] = [pick(lines, step.lines[0]), pick(lines, step.lines[1])];
        if (!one || !other || one === other || one.section !== other.section) return;
        await this.say([], 0);
        await this.read(async (reading, call) => {
          const text = `both ${[...factsIn(one.text), ...factsIn(other.text)].map((fact) => wordFor(fact, step.language)).join(" ")}`;
          const left = this.linesOf(reading, one.section).filter((line) => line !== one.text && line !== other.text);
          await call(one.section, [...left, text], [...left.map(() => []), [1]]);
        });
        return;
      }
      case "move": {
        const line = pick(lines, step.line);
        const section = SECTIONS[step.section % 3] ?? "profile";
        if (!line || line.section === section) return;
        await this.say([], 0);
        await this.read(async (reading, call) => {
          const text = `now ${factsIn(line.text)
            .map((fact) => wordFor(fact, step.language))
            .join(" ")}`;
          const add = () => call(section, [...this.linesOf(reading, section), text], [[1]]);
          const leaveOut = () =>
            call(
              line.section,
              this.linesOf(reading, line.section).filter((other) => other !== line.text),
              [[1]],
            );
          if (step.addsFirst) await add();
          await leaveOut();
          if (!step.addsFirst) await add();
        });
        return;
      }
      case "forget": {
        const line = pick(lines, step.line);
        if (!line) return;
        this.forget(line);
        await this.say([], 0);
        await this.read(async (reading, call) => {
          await call(
            line.section,
            this.linesOf(reading, line.section).filter((other) => other !== line.text),
            [[1]],
          );
        });
        return;
      }
      case "edit": {
        const line = pick(lines, step.line);
        const section = line?.section ?? "profile";
        const left = lines.filter((other) => other.section === section && other !== line).map(({ text }) => text);
        if (line) this.forget(line);
        this.forgotten.delete(step.fact);
        this.written.add(step.fact);
        this.erased.delete(step.fact);
        await makeCoreMemoryStore(this.database).put(this.owner, {
          section,
          content: [...left, `wrote ${wordFor(step.fact, 1)}`].join("\n"),
        });
        return;
      }
      case "erase":
        return this.erase([...this.said.keys()].slice(step.turn % Math.max(1, this.said.size)).slice(0, 1));
      case "erase conversation":
        return this.erase(
          [...this.said].filter(([, { sessionId }]) => sessionId === `s${step.session}`).map(([id]) => id),
          true,
        );
    }
  }

  /** Erases, has read again what is to be read again, and throws when something is left or too much is gone. */
  private async erase(messageIds: string[], isWhole = false): Promise<void> {
    const [first] = messageIds;
    if (first === undefined) return;
    const before = await this.known();
    const erases = makeEraseStore(this.database);
    const conversationId = this.said.get(first)?.conversationId ?? "";
    await (isWhole ? erases.conversation({ ...this.owner, conversationId }) : erases.episode(this.owner, first));
    for (const id of messageIds) {
      this.said.get(id)?.facts.forEach((fact) => this.erased.add(fact));
      this.said.delete(id);
    }
    const stillSaid = new Set([...this.written, ...[...this.said.values()].flatMap(({ facts }) => facts)]);
    stillSaid.forEach((fact) => this.erased.delete(fact));
    await this.mustHoldNothingErased();
    await this.learn("profile", "each", 0);
    await this.mustHoldNothingErased();
    const after = await this.known();
    const counts = new Set([
      ...[...this.written].filter((fact) => !this.forgotten.has(fact)),
      ...[...this.said.values()].flatMap((said) => said.counts),
    ]);
    const missing = [...before].filter((fact) => counts.has(fact) && !after.has(fact));
    if (missing.length > 0) throw new Error(`gone although it is still said: ${missing.join(", ")}`);
  }

  private async mustHoldNothingErased(): Promise<void> {
    const memory = { ...(await writtenByReadings(this.database, this.owner)), jobs: [] };
    const left = [...new Set(factsIn(JSON.stringify(memory)))].filter((fact) => this.erased.has(fact));
    if (left.length > 0) throw new Error(`left although nothing says it: ${left.join(", ")} in ${JSON.stringify(memory, null, 1)}`);
  }
}
