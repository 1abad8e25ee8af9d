/** Whether the model answers, in English. */
export const enModelTest = {
  go: "Test the model",
  asking: "Asking it for a word…",
  answers: (model: string, time: string) => `${model} answers, after ${time}.`,
  failed: (model: string) => `${model} does not answer`,
  check: "Look at:",
  offline: "Only the built-in model is there. Set OPENAI_API_KEY or OPENAI_BASE_URL, and start the service again.",
};
