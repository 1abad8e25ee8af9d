import { describe, expect, test } from "@jest/globals";
import { decideOffline } from "./changed-lines.ts";

/** What core memory holds after the messages, said one after the other. */
function after(...messages: string[]): Record<string, string[]> {
  const sections: Record<string, string> = {};
  for (const message of messages)
    for (const { section, content } of decideOffline(sections, message)) {
      if (content === "") delete sections[section];
      else sections[section] = content;
    }
  return Object.fromEntries(Object.entries(sections).map(([section, content]) => [section, content.split("\n")]));
}

describe("changes of mind", () => {
  test("a move, and back again", () =>
    expect(after("I live in Lisbon.", "I moved to Porto last month.", "We moved back to Lisbon.")).toEqual({
      profile: ["Lives in Lisbon."],
    }));

  test("tired of one thing, another instead", () =>
    expect(after("I like science fiction.", "Actually I am tired of science fiction, I like documentaries now")).toEqual({
      preferences: ["Likes documentaries."],
    }));

  test("from liking to disliking and back", () => {
    expect(after("I like tea.", "I don't like tea.")).toEqual({ preferences: ["Dislikes tea."] });
    expect(after("I hate running.", "Actually, I love running now.")).toEqual({ preferences: ["Likes running."] });
  });

  test("a name that was misunderstood", () => {
    expect(after("My name is Ann.", "My name is Anna.")).toEqual({ profile: ["Name: Anna."] });
    expect(after("我叫王芳", "我叫王方")).toEqual({ profile: ["名字：王方。"] });
  });

  test("what is to be forgotten, one after the other", () =>
    expect(after("My name is Ada. I live in Porto. I like tea.", "Forget where I live.", "Please forget that I like tea.")).toEqual({
      profile: ["Name: Ada."],
    }));

  test("everything is to be forgotten", () => expect(after("My name is Ada.", "I like tea.", "Forget everything about me.")).toEqual({}));

  test("questions and moods in between change nothing", () =>
    expect(
      after("I like tea.", "Do I like tea?", "I'm tired.", "If I lived in Rome I would like coffee.", "I don't want tea today."),
    ).toEqual({
      preferences: ["Likes tea."],
    }));

  test("一次搬家，用两种语言说", () => {
    expect(after("我住在上海", "我搬到杭州了")).toEqual({ profile: ["住在杭州。"] });
    expect(after("I live in Lisbon.", "我搬到上海了")).toEqual({ profile: ["住在上海。"] });
    expect(after("我住在上海", "I moved to Porto.")).toEqual({ profile: ["Lives in Porto."] });
  });

  test("喜欢变成不喜欢", () => {
    expect(after("我喜欢科幻", "我现在不喜欢科幻了")).toEqual({});
    expect(after("我喜欢喝咖啡", "我不喜欢咖啡")).toEqual({ preferences: ["不喜欢咖啡。"] });
    expect(after("我讨厌跑步", "我喜欢上跑步了")).toEqual({ preferences: ["喜欢跑步。"] });
  });

  test("忘掉说过的", () => expect(after("我住在上海，喜欢喝茶", "忘了我说过的住址", "忘掉我喜欢喝茶这件事")).toEqual({}));
});
