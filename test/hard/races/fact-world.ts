import type { DecideMemory, Reading } from "../../../memory/core/remember-turns.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { storesOf } from "../../support/databases/describe-stores.ts";
import { contentsOf } from "../../support/samples/core-memory.ts";
import { readingAgent } from "../../support/samples/reading-agent.ts";
import { writtenByReadings } from "../../support/samples/sample-reading.ts";

type Fact = number;
const wordsFor = (facts: readonly Fact[], language: number): string[] => facts.map((fact) => `${["zu", "ka", "mo"][language % 3]}${fact}q`);
const factsIn = (text: string): Fact[] => [...text.matchAll(/(?:zu|ka|mo)(\d+)q/g)].map(([, fact]) => Number(fact));
const SECTIONS = ["profile", "goals", "preferences"];

export type Step =
  | { do: "teach"; turns: { facts: Fact[]; session: number }[]; section: number; names: "each" | "flat" | "none"; language: number }
  | { do: "reword"; line: number; fact: Fact; language: number }
  | { do: "merge"; lines: [number, number]; language: number }
  | { do: "move"; line: number; section: number; language: number; addsFirst: boolean }
  | { do: "forget"; line: number }
  | { do: "edit"; line: number; fact: Fact }
  | { do: "erase"; turn: number }
  | { do: "erase conversation"; session: number };

interface Said {
  facts: Fact[];
  /** Those that were not forgotten since. */
  counts: Fact[];
  sessionId: string;
  conversationId: string;
}

type Line = { section: string; text: string };

/** Has the agent write these lines of a section; `turns` are numbers of turns, from 1, for each line or for all. */
type Write = (section: string, lines: string[], turns?: unknown) => Promise<string>;

const pick = <Item>(items: readonly Item[], number: number): Item | undefined => items[number % Math.max(1, items.length)];

const linesIn = ({ memory }: Reading, section: string): string[] => (memory.contents()[section] ?? "").split("\n").filter(Boolean);

const turnsSaying = ({ turns }: Reading, text: string): number[] =>
  turns.flatMap(({ userMessage }, index) => (factsIn(userMessage).some((fact) => factsIn(text).includes(fact)) ? [index + 1] : []));

/** A user of whom a scripted memory agent learns facts, and what must be known of them and what must not. */
export class FactWorld {
  private readonly database: Database;
  private readonly agent;
  private readonly said = new Map<string, Said>();
  private readonly written = new Set<Fact>();
  private readonly forgotten = new Set<Fact>();
  private readonly erased = new Set<Fact>();

  constructor(database: Database) {
    this.database = database;
    this.agent = readingAgent(database);
  }

  private async lines(): Promise<Line[]> {
    const contents = await contentsOf(this.database, this.agent.owner);
    return Object.entries(contents).flatMap(([section, content]) => content.split("\n").map((text) => ({ section, text })));
  }

  private async known(): Promise<Set<Fact>> {
    return new Set((await this.lines()).flatMap(({ text }) => factsIn(text)));
  }

  private async say(facts: Fact[], session = 0): Promise<void> {
    const sessionId = `s${session}`;
    const messageId = await this.agent.say(`I say ${wordsFor(facts, 0).join(" ")}.`, sessionId);
    const text = "select conversation_id as id from messages where id = $1";
    const [row] = await this.database.query<{ id: string }>({ text, values: [messageId] });
    this.said.set(messageId, { facts, counts: facts, sessionId, conversationId: row?.id ?? "" });
    facts.forEach((fact) => this.erased.delete(fact));
  }

  private read(rewrite: (reading: Reading, write: Write) => Promise<unknown>): Promise<number> {
    const decide: DecideMemory = async (reading) => {
      await rewrite(reading, (section, lines, turns) => {
        const content = lines.join("\n");
        const reason = `because ${content.slice(0, 300)}`;
        return reading.memory.call({ name: "core_memory_update", arguments: { section, content, reason, turns } }, reading.turns);
      });
    };
    return this.agent.readAll(decide);
  }

  /** Learns what the turns say and is not known, a line for each turn; what is known is said again by them. */
  private async learn(section: string, names: "each" | "flat" | "none", language: number): Promise<void> {
    await this.read(async (reading, write) => {
      const contents = Object.entries(reading.memory.contents());
      for (const [known, content] of contents) {
        const lines = content.split("\n");
        const turns = lines.map((line) => turnsSaying(reading, line));
        if (turns.flat().length > 0) await write(known, lines, turns);
      }
      const known = new Set(contents.flatMap(([, content]) => factsIn(content)));
      const texts = reading.turns.flatMap(({ userMessage }) => {
        const fresh = factsIn(userMessage).filter((fact) => !known.has(fact));
        fresh.forEach((fact) => known.add(fact));
        return fresh.length > 0 ? [`has ${wordsFor(fresh, language).join(" ")}`] : [];
      });
      if (texts.length === 0) return;
      const all = [...linesIn(reading, section), ...texts];
      const turns = {
        each: all.map((text) => (texts.includes(text) ? turnsSaying(reading, text) : [])),
        flat: [...new Set(texts.flatMap((text) => turnsSaying(reading, text)))],
        none: undefined,
      };
      await write(section, all, turns[names]);
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
    const line = "line" in step ? pick(lines, step.line) : undefined;
    const leaveOut = (reading: Reading, write: Write, { section, text }: Line): Promise<string> => {
      const others = linesIn(reading, section).filter((other) => other !== text);
      return write(section, others, [[1]]);
    };
    switch (step.do) {
      case "teach":
        for (const { facts, session } of step.turns) await this.say(facts, session);
        return this.learn(SECTIONS[step.section % 3] ?? "profile", step.names, step.language);
      case "reword": {
        if (!line) return;
        await this.say([step.fact]);
        const text = `is ${wordsFor([...factsIn(line.text), step.fact], step.language).join(" and ")}`;
        await this.read((reading, write) => {
          const rewritten = linesIn(reading, line.section).map((other) => (other === line.text ? text : other));
          const turns = rewritten.map((other) => (other === text ? [1] : []));
          return write(line.section, rewritten, turns);
        });
        return;
      }
      case "merge": {
        const [one, other] = [pick(lines, step.lines[0]), pick(lines, step.lines[1])];
        if (!one || !other || one === other || one.section !== other.section) return;
        await this.say([]);
        const text = `both ${wordsFor([...factsIn(one.text), ...factsIn(other.text)], step.language).join(" ")}`;
        await this.read((reading, write) => {
          const left = linesIn(reading, one.section).filter((kept) => kept !== one.text && kept !== other.text);
          return write(one.section, [...left, text], [...left.map(() => []), [1]]);
        });
        return;
      }
      case "move": {
        const section = SECTIONS[step.section % 3] ?? "profile";
        if (!line || line.section === section) return;
        await this.say([]);
        const text = `now ${wordsFor(factsIn(line.text), step.language).join(" ")}`;
        await this.read(async (reading, write) => {
          const add = () => write(section, [...linesIn(reading, section), text], [[1]]);
          if (step.addsFirst) await add();
          await leaveOut(reading, write, line);
          if (!step.addsFirst) await add();
        });
        return;
      }
      case "forget":
        if (!line) return;
        this.forget(line);
        await this.say([]);
        await this.read((reading, write) => leaveOut(reading, write, line));
        return;
      case "edit": {
        const section = line?.section ?? "profile";
        const left = lines.filter((other) => other.section === section && other !== line).map(({ text }) => text);
        if (line) this.forget(line);
        this.forgotten.delete(step.fact);
        this.written.add(step.fact);
        this.erased.delete(step.fact);
        const content = [...left, `wrote ${wordsFor([step.fact], 1).join("")}`].join("\n");
        await storesOf(this.database).coreMemory.put(this.agent.owner, { section, content });
        return;
      }
      case "erase":
        return this.erase([...this.said.keys()].slice(step.turn % Math.max(1, this.said.size)).slice(0, 1));
      case "erase conversation": {
        const own = [...this.said].filter(([, { sessionId }]) => sessionId === `s${step.session}`);
        return this.erase(
          own.map(([id]) => id),
          true,
        );
      }
    }
  }

  private async erase(messageIds: string[], isWhole = false): Promise<void> {
    const [first] = messageIds;
    if (first === undefined) return;
    const before = await this.known();
    const { owner } = this.agent;
    const { erases } = storesOf(this.database);
    const conversationId = this.said.get(first)?.conversationId ?? "";
    await (isWhole ? erases.conversation({ ...owner, conversationId }) : erases.episode(owner, first));
    for (const id of messageIds) {
      this.said.get(id)?.facts.forEach((fact) => this.erased.add(fact));
      this.said.delete(id);
    }
    for (const fact of [...this.written, ...[...this.said.values()].flatMap(({ facts }) => facts)]) this.erased.delete(fact);
    await this.mustHoldNothingErased();
    await this.learn("profile", "each", 0);
    await this.mustHoldNothingErased();
    const after = await this.known();
    const written = [...this.written].filter((fact) => !this.forgotten.has(fact));
    const counts = new Set([...written, ...[...this.said.values()].flatMap((said) => said.counts)]);
    const missing = [...before].filter((fact) => counts.has(fact) && !after.has(fact));
    if (missing.length > 0) throw new Error(`gone although it is still said: ${missing.join(", ")}`);
  }

  private async mustHoldNothingErased(): Promise<void> {
    const memory = { ...(await writtenByReadings(this.database, this.agent.owner)), jobs: [] };
    const left = [...new Set(factsIn(JSON.stringify(memory)))].filter((fact) => this.erased.has(fact));
    if (left.length > 0) throw new Error(`left although nothing says it: ${left.join(", ")} in ${JSON.stringify(memory, null, 1)}`);
  }
}
