import { expect, test } from "@jest/globals";
import { titleIn } from "../../../memory/title/title-conversation.ts";

test.each([
  ['"Way to the castle."\nand more', "Way to the castle"],
  ["\n\n**Title: Trams in Lisbon**", "Trams in Lisbon"],
  ["标题：《里斯本之旅》。", "里斯本之旅"],
  [' "" ', ""],
  ["", ""],
])("the title in %j is %j", (answer, title) => expect(titleIn(answer)).toBe(title));
