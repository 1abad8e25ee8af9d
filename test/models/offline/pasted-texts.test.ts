import { expect, test } from "@jest/globals";
import { decideOffline } from "./changed-lines.ts";

const MAIL = `Hi Tom,

I moved to Porto last month and I love it here.
My name is still Ann, of course. I like the sea.

Best, Ann`;
const CHINESE_MAIL = `王老师您好，

我叫李雷，我住在杭州。
我喜欢摄影。

祝好
李雷`;
const POEM = `I love the rain
I hate the snow
I live in Winterland
I like tea`;
const CHINESE_POEM = `我喜欢春天
我住在南山
我讨厌冬天`;
const TRANSCRIPT = `Ann: I live in Porto.
Bob: I like tea.
Ann: My name is Ann.`;
const CHINESE_TRANSCRIPT = `李雷：我住在杭州
韩梅梅：我喜欢喝茶
李雷：我叫李雷`;

test.each([
  ["a mail", MAIL],
  ["a mail with a request in front", `Please answer this mail.\n\n${MAIL}`],
  ["a mail on one line", "Hi Tom, I moved to Porto. I like the sea. Best regards, Ann"],
  ["a Chinese mail", CHINESE_MAIL],
  ["a Chinese mail on one line", "王老师您好，我叫李雷，我住在杭州。此致敬礼"],
  ["a poem", POEM],
  ["a poem of two lines", "I love the rain\nI love jazz"],
  ["a poem on one line", "I love rain / I live in Rome / I hate snow"],
  ["a Chinese poem", CHINESE_POEM],
  ["a Chinese poem on one line", "我喜欢春天/我住在南山/我讨厌冬天"],
  ["a transcript", TRANSCRIPT],
  ["a transcript on one line", "Ann: I live in Porto. Bob: I like tea."],
  ["a transcript with times", "[10:02] Ann I live in Porto\n[10:03] Bob I like tea"],
  ["a transcript with dashes", "- I live in Porto.\n- I like tea."],
  ["a Chinese transcript", CHINESE_TRANSCRIPT],
  ["a Chinese transcript on one line", "李雷：我住在杭州。韩梅梅：我喜欢喝茶。"],
  ["a quotation", '"I live in Porto. I like tea."'],
  ["a Chinese quotation", "「我住在杭州。我喜欢茶。」"],
  ["a long text", `I live in Porto. ${"It was a long day. ".repeat(30)}I like tea.`],
  ["an order in a mail", "Remember that I live in Porto.\n\nRegards, Ann"],
  ["an order to forget in a poem", "Forget where I live\nForget my name"],
])("nothing is learnt from %s that was pasted", (_what, message) =>
  expect(decideOffline({ profile: "Lives in Rome.\nName: Tom." }, message)).toEqual([]),
);
