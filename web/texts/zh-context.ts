import type { enActs, enContext } from "./en-context.ts";

/** How full the context is, and what an agent does, in Chinese. */
export const zhContext: typeof enContext = {
  gauge: (percent, limit) => `上下文：已用 ${limit} 个词元的 ${percent} %`,
  warned: (percent) => `上下文已用 ${percent} %。较早的消息即将被摘要。`,
  saturated: (percent) => `上下文已用 ${percent} %。正在为较早的消息做摘要。`,
  details: "上下文的组成",
  empty: "还没有提示词。",
  left: (tokens) => `剩余 ${tokens} 个词元`,
  used: (prompt, completion, cached) => `全部轮次：读取 ${prompt} 个词元，写出 ${completion} 个，来自缓存 ${cached} 个`,
  cost: "费用",
  costOfAll: "此对话的费用",
  without: (turns) => `（不含 ${turns} 轮费用未知的对话）`,
  unknown: "未知",
  compressed: (before, after, percent) => `${before} → ${after} 个词元，占用 ${percent} %。`,
  messages: (before, after) => `${before} 条消息中保留了 ${after} 条。`,
  strategies: {
    prune: "提示词中省略了工具的输出：",
    truncate: "提示词中缩短或省略了消息：",
    summarize: "较早的消息已做摘要：",
  },
  model: (name) => `模型 ${name}`,
  window: "上下文窗口",
  longest: "最长回答",
  prices: "价格",
  perMillion: (input, output) => `每百万词元：输入 $${input}，输出 $${output}`,
  capabilities: "能力",
  sources: {
    file: "来自 MODEL_PROFILES",
    server: "来自模型服务器",
    profile: "来自 LangChain 的资料",
    assumed: "假定：无人知晓",
    refusal: "来自服务器的拒绝",
  },
  notices: {
    context_near_limit: "上下文即将用满。",
    context_trimmed: "提示词已达上限：有内容被缩短或省略。存储中没有任何丢失。",
  },
};

export const zhActs: typeof enActs = {
  title: "调用的工具",
  running: "运行中",
  done: "完成",
  failed: "失败",
  interrupted: "中断",
  held: "尚未执行",
  by: (agent) => `由 ${agent} 调用`,
  arguments: "参数",
  result: "结果",
  resultCut: "结果（开头）",
  thoughts: "思考",
  plan: "计划",
  planStates: { pending: "待办", in_progress: "进行中", completed: "完成" },
};
