import { describe, expect, test } from "@jest/globals";
import type { WireMessage } from "../../../models/wire/wire-message.ts";
import { answeredIdsOf, assistant, call, calls, idsOf, picture, result, shape, system, textPart, textsOf, user } from "./wire-histories.ts";

const rolesOf = (messages: readonly WireMessage[]): string => messages.map(({ role }) => role).join(" ");
const A_MARK = expect.stringMatching(/^\s*\S[\s\S]{0,60}$/);

describe("neighbours", () => {
  test("of the assistant are joined, with a blank line between; a question without an answer stays one", () => {
    expect(shape([user("one"), user("two"), assistant("three"), assistant("four"), user("five")])).toEqual([
      user("one"),
      assistant("(no answer)"),
      user("two"),
      assistant("three\n\nfour"),
      user("five"),
    ]);
  });

  test("become neighbours when what stood between was empty", () => {
    expect(shape([user("one"), assistant(" \n"), user("two")])).toEqual([user("one"), assistant("(no answer)"), user("two")]);
    expect(shape([user("one"), { role: "assistant", content: null }, user([])])).toEqual([user("one")]);
  });

  test("of which one has calls keep the text and the calls", () => {
    const shaped = shape([user("go"), assistant("let me see"), calls(call("a")), result("a")]);
    expect(shaped).toEqual([user("go"), { ...calls(call("a")), content: "let me see" }, result("a")]);
  });
});

describe("system messages", () => {
  test("stand first and once, wherever they were", () => {
    const given = [system("one"), user("hello"), system("two"), assistant("hi"), user("go"), system("three")];
    expect(shape(given)).toEqual([system("one\n\ntwo\n\nthree"), user("hello"), assistant("hi"), user("go")]);
  });

  test("leave neighbours behind that are joined", () => {
    const given = [user("hello"), assistant("one"), system("be brief"), assistant("two")];
    expect(shape(given)).toEqual([system("be brief"), user("hello"), assistant("one\n\ntwo")]);
  });

  test("stand in front of the first question where a server has no such role", () => {
    expect(shape([system("be brief"), user("go")], "system_in_user")).toEqual([user("be brief\n\ngo")]);
    expect(shape([system("be brief"), user([picture()])], "system_in_user")).toEqual([user([textPart("be brief"), picture()])]);
    expect(shape([system("be brief")], "system_in_user")).toEqual([user("be brief")]);
  });

  test("have the role developer only if the server knows it", () => {
    const developer: WireMessage = { role: "developer", content: "be brief" };
    expect(shape([developer, user("go")])).toEqual([system("be brief"), user("go")]);
    expect(shape([system("be brief"), user("go")], "developer")).toEqual([developer, user("go")]);
  });

  test("that say nothing are left out", () => {
    expect(shape([system(" "), user("go")])).toEqual([user("go")]);
  });
});

describe("answers", () => {
  test("at the beginning stand behind a mark of the user", () => {
    expect(shape([assistant("welcome"), user("hi")])).toEqual([user(A_MARK as unknown as string), assistant("welcome"), user("hi")]);
  });

  test("with calls have no text, or a mark where a server wants one", () => {
    const given = [user("go"), { ...calls(call("a")), content: "" }, result("a")];
    expect(shape(given)[1]?.content).toBeNull();
    expect(shape(given, "text_beside_calls")[1]?.content).toEqual(A_MARK);
  });

  test("without calls have no empty list of them", () => {
    expect(shape([user("hi"), { ...assistant("hello"), tool_calls: [] }, user("go")])[1]).toEqual(assistant("hello"));
  });

  test("at the end stay there to be continued, unless a server wants the user last", () => {
    const given = [user("tell"), assistant("once upon")];
    expect(shape(given)).toEqual(given);
    expect(rolesOf(shape(given, "user_last"))).toBe("user assistant user");
  });

  test("with results at the end stay as they are", () => {
    const given = [user("go"), calls(call("a")), result("a")];
    expect(shape(given, "user_last")).toEqual(given);
  });
});

describe("calls and results", () => {
  test("stand together, each call with one result, in the order of the calls", () => {
    const shaped = shape([user("go"), calls(call("a"), call("b"), call("c")), result("c"), result("a"), result("b"), assistant("done")]);
    expect(answeredIdsOf(shaped)).toEqual(["a", "b", "c"]);
    expect(shaped.slice(2, 5).map(({ content }) => content)).toEqual(["result of a", "result of b", "result of c"]);
  });

  test("have a result filled in where one is missing", () => {
    const shaped = shape([user("go"), calls(call("a"), call("b")), result("b"), user("well?")]);
    expect(answeredIdsOf(shaped)).toEqual(["a", "b"]);
    expect(shaped[2]?.content).toEqual(A_MARK);
    expect(shaped[3]?.content).toBe("result of b");
  });

  test("that are empty say so", () => {
    const shaped = shape([user("go"), calls(call("a"), call("b")), result("a", ""), result("b", null)]);
    expect(shaped.slice(2).map(({ content }) => content)).toEqual([A_MARK, A_MARK]);
  });

  test("without each other do not stay: results at the beginning, results of others, second results", () => {
    const given = [
      result("z"),
      user("go"),
      result("y"),
      calls(call("a")),
      result("a"),
      result("a", "again"),
      assistant("done"),
      result("a"),
    ];
    const shaped = shape([...given, user("ok")]);
    expect(answeredIdsOf(shaped)).toEqual(["a"]);
    expect(shaped.find(({ role }) => role === "tool")?.content).toBe("result of a");
  });

  test("have a short answer before a question that comes directly behind", () => {
    const shaped = shape([user("go"), calls(call("a")), result("a"), user("stop, answer now")]);
    expect(rolesOf(shaped)).toBe("user assistant tool assistant user");
    expect(shaped[3]?.content).toEqual(A_MARK);
  });

  test("whose id comes twice have different ids, the results alike", () => {
    const shaped = shape([
      user("go"),
      calls(call("a"), call("a")),
      result("a", "first"),
      result("a", "second"),
      calls(call("a")),
      result("a", "third"),
    ]);
    expect(new Set(idsOf(shaped)).size).toBe(3);
    expect(answeredIdsOf(shaped)).toEqual(idsOf(shaped));
    expect(shaped.flatMap((message) => (message.role === "tool" ? textsOf(message) : []))).toEqual(["first", "second", "third"]);
  });

  test("without ids get some", () => {
    const shaped = shape([user("go"), calls(call(""), call("")), result("", "first"), result("", "second")]);
    expect(idsOf(shaped).every((id) => id !== "")).toBe(true);
    expect(answeredIdsOf(shaped)).toEqual(idsOf(shaped));
  });

  test("have ids of nine letters or digits where a server wants them, always the same ones", () => {
    const given = [
      user("go"),
      calls(call("functions.calculate:0"), call("abc123DEF")),
      result("functions.calculate:0"),
      result("abc123DEF"),
    ];
    const shaped = shape(given, "short_ids");
    expect(idsOf(shaped)).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), "abc123DEF"]);
    expect(answeredIdsOf(shaped)).toEqual(idsOf(shaped));
    expect(shape(given, "short_ids")).toEqual(shaped);
  });

  test("stand one by one where a server takes no more at once", () => {
    const given = [user("go"), { ...calls(call("a"), call("b")), content: "let me see" }, result("a"), result("b"), assistant("done")];
    expect(shape(given, "single_calls")).toEqual([
      user("go"),
      { ...calls(call("a")), content: "let me see" },
      result("a"),
      calls(call("b")),
      result("b"),
      assistant("done"),
    ]);
  });

  test("have names that every server takes", () => {
    const names = ["functions.calculate:0", "mcp__a__b.c", "Küche", "", "x".repeat(80), "a-b_C9"];
    const given = [
      user("go"),
      calls(...names.map((name, index) => call(String(index), name))),
      ...names.map((_, index) => result(String(index))),
    ];
    const shaped = (shape(given)[1]?.tool_calls ?? []).map((one) => one.function.name);
    expect(shaped).toHaveLength(names.length);
    for (const name of shaped) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(shaped.at(-1)).toBe("a-b_C9");
  });

  test("have no names in the results where a server takes none", () => {
    const shaped = shape([user("go"), calls(call("a")), result("a")], "no_name");
    expect(shaped.some((message) => "name" in message)).toBe(false);
  });
});

test("parts without pictures are a text, as servers without sight want it", () => {
  const parts = [textPart("one"), textPart("two")];
  const given: WireMessage[] = [
    { role: "system", content: parts },
    user(parts),
    { role: "assistant", content: parts },
    user("go"),
    calls(call("a")),
  ];
  const shaped = shape([...given, result("a", parts)]);
  expect(shaped.map(({ content }) => content)).toEqual([...Array<string>(3).fill("one\n\ntwo"), "go", null, "one\n\ntwo"]);
});

test("a picture has no empty text beside it", () => {
  expect(shape([user([textPart(" "), picture()])])).toEqual([user([picture()])]);
});

test("a history of which nothing is left still asks", () => {
  for (const given of [[], [result("a")], [user(" ")], [assistant("")]]) expect(rolesOf(shape(given))).toBe("user");
  expect(rolesOf(shape([system("be brief")]))).toBe("system user");
});
