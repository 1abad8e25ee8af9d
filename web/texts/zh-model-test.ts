import type { enModelTest } from "./en-model-test.ts";

/** Whether the model answers, in Chinese. */
export const zhModelTest: typeof enModelTest = {
  go: "测试模型",
  asking: "正在请它说一个词…",
  answers: (model, time) => `${model} 可以回答，用时 ${time}。`,
  failed: (model) => `${model} 没有回答`,
  check: "请检查：",
  offline: "只有内置模型。请设置 OPENAI_API_KEY 或 OPENAI_BASE_URL，然后重新启动服务。",
};
