import type { Texts } from "./en.ts";

export const zhBranches: Texts["branches"] = {
  title: "分支",
  explain: "修改问题或重新回答会开始一个新分支。记忆只了解此处显示的内容。",
  edit: "编辑",
  editExplain: "按 Enter 发送，按 Esc 取消。后面的内容会留在原来的分支上。",
  regenerate: "重新回答",
  fork: "在另一段对话中继续",
  versions: "版本",
  version: (number, count) => `第 ${number} 个版本，共 ${count} 个`,
  earlierAnswer: "显示之前的回答",
  first: "最初版本",
  origins: { edit: "修改的问题", regenerate: "重新回答", restore: "已恢复" },
  shown: "当前显示",
  switch: "切换到此分支",
  erase: "删除",
  eraseTitle: (name) => `删除分支 ${name}？`,
  eraseExplain: (others) =>
    others === 0
      ? "它自己的消息以及从中学到的一切将被永久删除。与其他分支共有的内容会保留。"
      : `它自己的消息、由它分出的 ${others} 个分支以及从中学到的一切将被永久删除。`,
  snapshots: "快照",
  snapshotsExplain: "快照记下对话当前的位置。恢复快照即从那里继续。",
  label: "快照名称",
  keep: "保存",
  restore: "恢复",
  forget: "移除",
};

export const zhPictures: Texts["pictures"] = {
  add: "添加图片",
  limits: ({ count, each, together }) => `PNG、JPEG、WebP 或 GIF，最多 ${count} 张，每张不超过 ${each}，合计不超过 ${together}`,
  chosen: "待发送的图片",
  remove: (name) => `移除 ${name}`,
  picture: (number) => `图片 ${number}`,
  open: (label) => `打开${label}`,
  gone: "图片无法显示。",
  refused: {
    type: (name) => `${name} 无法发送：只能发送 PNG、JPEG、WebP 和 GIF 图片。`,
    none: (name) => `${name} 无法发送：此服务不接收图片。`,
    count: (name, { count }) => `${name} 超出数量：一条消息最多 ${count} 张图片。`,
    size: (name, { each }) => `${name} 超过 ${each}。`,
    together: (name, { together }) => `加上 ${name}，图片合计将超过 ${together}。`,
    unreadable: (name) => `${name} 无法读取。`,
  },
};

export const zhRating: Texts["rating"] = { good: "回答很好", bad: "回答不好", why: "哪里不对？（可选）", send: "发送" };

export const zhWelcome: Texts["welcome"] = {
  talk: "对话",
  talkExplain: "你说的话会被记住：关于你的事实，以及聊过的内容。",
  examples: ["我叫小雅，住在里斯本。", "你知道我的哪些事？"],
  documents: "添加文档",
  documentsExplain: "之后回答会引用它，点击引用即可打开原文。",
  documentsThere: (count) => `已有 ${count} 个知识库。`,
  documentsGo: "打开文档",
  connect: "连接模型",
  connectExplain: "内置模型只会引用。用以下设置之一启动服务：",
  orLocal: "或你自己的服务器：",
  model: "模型",
  modelIs: (name) => `由 ${name} 回答。`,
  state: "服务状态",
};
