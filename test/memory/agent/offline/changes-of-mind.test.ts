import { describe, expect, test } from "@jest/globals";
import { decideOffline } from "../../../../memory/agent/offline/decide-offline.ts";

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

  test("no meat any more takes the steak with it, and meat again takes back the rest", () => {
    expect(after("I love steak and jazz.", "I no longer eat meat.")).toEqual({
      preferences: ["Likes jazz."],
      constraints: ["Does not eat meat."],
    });
    expect(after("I don't eat meat.", "I eat meat again.")).toEqual({});
  });

  test("vegetarian, then vegan, then neither", () => {
    expect(after("I'm vegetarian.", "I like cheese.", "I'm vegan now.")).toEqual({ constraints: ["Vegan."] });
    expect(after("I'm vegetarian.", "I'm not vegetarian any more.")).toEqual({});
  });

  test("tired of one thing, another instead", () =>
    expect(after("I like science fiction.", "Actually I am tired of science fiction, I like documentaries now")).toEqual({
      preferences: ["Likes documentaries."],
    }));

  test("from liking to disliking and back", () => {
    expect(after("I like tea.", "I don't like tea.")).toEqual({ preferences: ["Dislikes tea."] });
    expect(after("I hate running.", "I've come to love running.")).toEqual({ preferences: ["Likes running."] });
  });

  test("a name that was misunderstood", () =>
    expect(after("My name is Ann.", "No, my name is not Ann, it's Anna.")).toEqual({ profile: ["Name: Anna."] }));

  test("another job, and then none", () => {
    const jobs = ["I work as a nurse at Acme.", "I changed jobs, I'm a product manager now."];
    expect(after(...jobs)).toEqual({ profile: ["Works as a product manager."] });
    expect(after(...jobs, "I got laid off.")).toEqual({});
  });

  test("the new job may be told before that the old one is over", () =>
    expect(after("I'm a nurse.", "I'm a product manager now, I changed jobs.")).toEqual({ profile: ["Works as a product manager."] }));

  test("a birthday has passed", () => expect(after("I'm 34 years old.", "I just turned 35!")).toEqual({ profile: ["Age: 35."] }));

  test("a favourite of the same kind takes the place, of another kind does not", () =>
    expect(after("My favourite colour is teal.", "My favourite food is ramen.", "My favourite colour is red.")).toEqual({
      preferences: ["Favourite colour: red.", "Favourite food: ramen."],
    }));

  test("two sisters, one wife", () =>
    expect(after("My sister Mia is here.", "My sister Lea too.", "My girlfriend Ida came.", "My wife is called Anna.")).toEqual({
      relationships: ["Sister: Mia.", "Sister: Lea.", "Wife: Anna."],
    }));

  test("a goal is given up", () =>
    expect(after("I want to learn Spanish.", "My goal is to run a marathon.", "I gave up learning Spanish.")).toEqual({
      goals: ["Goal: run a marathon."],
    }));

  test("an allergy that was none", () => expect(after("I'm allergic to nuts.", "I'm no longer allergic to nuts.")).toEqual({}));

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

  test("不再吃肉", () =>
    expect(after("我喜欢吃牛排和面条", "我不再吃肉了")).toEqual({ preferences: ["喜欢面条。"], constraints: ["不吃肉。"] }));

  test("又开始吃肉", () => expect(after("我吃素", "我开始吃肉了")).toEqual({}));

  test("喜欢变成不喜欢", () => {
    expect(after("我喜欢科幻", "我现在不喜欢科幻了")).toEqual({});
    expect(after("我喜欢喝咖啡", "我不喜欢咖啡")).toEqual({ preferences: ["不喜欢咖啡。"] });
    expect(after("我讨厌跑步", "我喜欢上跑步了")).toEqual({ preferences: ["喜欢跑步。"] });
  });

  test("看腻了，换别的", () => expect(after("我喜欢科幻片", "科幻我看腻了，现在喜欢纪录片")).toEqual({ preferences: ["喜欢纪录片。"] }));

  test("名字听错了", () => expect(after("我叫王芳", "我不叫王芳，我叫王方")).toEqual({ profile: ["名字：王方。"] }));

  test("换工作", () =>
    expect(after("我是程序员", "我在腾讯工作", "我换工作了，现在是产品经理")).toEqual({ profile: ["职业：产品经理。"] }));

  test("分手", () => expect(after("我女朋友叫小红", "我和女朋友分手了")).toEqual({}));

  test("放弃目标", () => expect(after("我想学日语", "我不想学日语了")).toEqual({}));

  test("忘掉说过的", () => expect(after("我住在上海，喜欢喝茶", "忘了我说过的住址", "忘掉我喜欢喝茶这件事")).toEqual({}));
});
