import type { enQuestions } from "./en-questions.ts";

/** What turns ask, in Chinese. */
export const zhQuestions: typeof enQuestions = {
  types: { permission: "请求许可", clarification: "提问", decision: "请你决定", client_tool: "等待应用程序" },
  permission: (agent, tool) => `${agent} 想调用 ${tool}，可以吗？`,
  clientTool: "发送这条消息的应用程序会执行调用并送回结果。",
  noArguments: "没有参数",
  arguments: "参数",
  options: { allow_once: "允许一次", allow_always: "始终允许", deny: "拒绝" },
  explained: { allow_once: "只执行这一次调用。", allow_always: "此智能体今后使用此工具无需再问。", deny: "不执行此调用。" },
  recommended: "推荐",
  ownWords: "用你自己的话回答",
  remark: "附言（可选）",
  answer: "回答",
  left: (time) => `剩余 ${time}`,
  timeIsUp: "时间已到",
  waits: "等你回答",
  asks: (question) => `助手提问：${question}`,
  answered: (answer) => `已回答：${answer}`,
  inTime: "没有人及时回答。",
  counted: (answer) => `按此处理：${answer}`,
  byRule: "无人可问。",
  elsewhere: "此问题已关闭。",
  bell: (count) => (count === 0 ? "没有等你回答的问题" : `${count} 个问题等你回答`),
  waiting: "等你回答",
  by: (agent) => `由 ${agent} 提出`,
};
