import { expect, test } from "@jest/globals";
import { useServiceOnFolder } from "../../support/services/service-on-folder.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";

/** What is told, then changed, and asked in another session; what the answer must hold, and what not. */
const STORIES: [told: string, changed: string, question: string, holds: string, holdsNot: string][] = [
  ["I live in Lisbon.", "I moved to Porto.", "Where do I live now?", "Porto", "Lisbon"],
  ["I like tea.", "I don't like tea any more, but I love coffee.", "What do I like to drink?", "coffee", "tea"],
  ["My name is Ann.", "Sorry, my name is Anna.", "What is my name?", "Anna", "Ann."],
  ["My cat is called Tom.", "My cat is called Kim now.", "What is my cat called?", "Kim", "Tom"],
  ["Remember that my flight leaves at 6 pm.", "Remember that my flight leaves at 8 pm.", "When does my flight leave?", "8 pm", "6 pm"],
  ["Don't forget that I'm allergic to peanuts.", "I live in Oslo.", "What am I allergic to?", "peanuts", "Oslo"],
  ["I work at the harbour.", "I work at the airport now.", "Where do I work?", "airport", "harbour"],
  ["I hate cilantro.", "Actually, I love cilantro now.", "Do I like cilantro?", "Likes cilantro", "Dislikes"],
  ["My sister lives in Faro.", "I live in Porto.", "Where does my sister live?", "Faro", "Porto"],
  ["My dentist is on Tuesday.", "My dentist is on Friday instead.", "When is my dentist?", "Friday", "Tuesday"],
  ["我住在上海。", "我搬到杭州了。", "我现在住在哪里？", "杭州", "上海"],
  ["我喜欢喝茶。", "我不喜欢喝茶了，我喜欢喝咖啡。", "我喜欢喝什么？", "咖啡", "茶"],
  ["我叫王芳。", "不好意思，我叫王方。", "我叫什么名字？", "王方", "王芳"],
  ["我的猫叫小花。", "我的猫现在叫小白。", "我的猫叫什么？", "小白", "小花"],
  ["记住我的航班6点起飞。", "记住我的航班8点起飞。", "我的航班几点起飞？", "8点", "6点"],
  ["记住我对花生过敏。", "我住在南京。", "我对什么过敏？", "花生", "南京"],
  ["我在海港上班。", "我现在在机场上班。", "我在哪里上班？", "机场", "海港"],
  ["我讨厌香菜。", "我现在喜欢香菜了。", "我喜欢香菜吗？", "喜欢香菜", "不喜欢"],
  ["我妹妹住在宁波。", "我住在杭州。", "我妹妹住在哪里？", "宁波", "杭州"],
  ["我周二去看牙医。", "我改到周五看牙医了。", "我哪天看牙医？", "周五", "周二"],
];

const running = useServiceOnFolder();

test.each(STORIES)("with nothing configured: %s %s %s", async (told, changed, question, holds, holdsNot) => {
  const { say, settle } = conversationApi(running.url);
  for (const message of [told, changed]) await settle((await say(question, message, "monday")).conversation_id);
  const { answer } = await say(question, question, "friday");
  expect(answer).toContain(holds);
  expect(answer).not.toContain(holdsNot);
  expect(answer).toMatch(/^(?:What I know about you: "|You said earlier: "|关于你，我知道：“|你之前说过：“)[^"”]+["”]$/);
});
