import { describe, expect, test } from "@jest/globals";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { askModel } from "./ask-dialect.ts";
import { type Dialect, repliesOf, type ReplyName } from "./dialect.ts";
import { startDialectServer } from "./dialect-server.ts";
import { dialectNamed, DIALECTS } from "./dialects.ts";
import { DIFFERENCES } from "./oracle-differences.ts";
import { OTHER_READERS, type OtherRead, type ReaderName } from "./oracle-readers.ts";

const server = useOpened(startDialectServer);
type Aspect = keyof OtherRead;
const READERS: readonly ReaderName[] = ["ai", "openai"];
const ASPECTS: readonly Aspect[] = ["text", "thoughts", "calls", "fails"];

/** What the service reads, or would read if it understood the dialect. */
async function readByUs(dialect: Dialect, reply: ReplyName): Promise<OtherRead> {
  const model = createOpenAIChatModel({ model: "m", apiKey: "a key", baseUrl: server.addressOf(dialect, reply) });
  const { error, ...read } = await askModel(model);
  return { ...read, fails: error !== null };
}

/** Readers may differ in the blanks around a text. */
const comparable = ({ text, thoughts, calls, fails }: OtherRead): Record<Aspect, string> => {
  return { text: text.trim(), thoughts: thoughts.trim(), calls: JSON.stringify(calls), fails: String(fails) };
};

const differencesOf = (reader: ReaderName, name: string): Aspect[] => {
  const named = DIFFERENCES.filter((one) => one.reader === reader && one.dialects.includes(name)).flatMap(({ what }) => what);
  return ASPECTS.filter((aspect) => named.includes(aspect));
};

async function differing(dialect: Dialect): Promise<Record<ReaderName, Aspect[]>> {
  const found = { ai: new Set<Aspect>(), openai: new Set<Aspect>() };
  const replies = repliesOf(dialect).filter((reply, _at, all) => reply !== "calls" || !all.includes("words")); // else "both" has them
  const comparing = replies.map(async (reply) => {
    const ours = comparable(await readByUs(dialect, reply));
    for (const reader of READERS) {
      const theirs = comparable(await OTHER_READERS[reader](server.addressOf(dialect, reply), dialect));
      for (const aspect of ASPECTS) if (ours[aspect] !== theirs[aspect]) found[reader].add(aspect);
    }
  });
  await Promise.all(comparing);
  const inOrder = (reader: ReaderName): Aspect[] => ASPECTS.filter((aspect) => found[reader].has(aspect));
  return { ai: inOrder("ai"), openai: inOrder("openai") };
}

describe("the clients of npm, the AI SDK's and OpenAI's,", () => {
  test.each(DIALECTS)(
    "read the same bytes as we do in the dialect “$name”, but for the differences that have a reason",
    async (dialect) => {
      const named = { ai: differencesOf("ai", dialect.name), openai: differencesOf("openai", dialect.name) };
      expect(await differing(dialect)).toEqual(named);
    },
  );
});

test("every difference is of a dialect that there is, and has one reason", () => {
  const named = DIFFERENCES.flatMap(({ reader, dialects }) => dialects.map((name) => `${reader}: ${dialectNamed(name).name}`));
  expect(new Set(named).size).toBe(named.length);
});
