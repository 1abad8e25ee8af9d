/** How full the context is, and what an agent does, in English. */
export const enContext = {
  gauge: (percent: number, limit: string) => `Context: ${percent} % of ${limit} tokens`,
  warned: (percent: number) => `The context is ${percent} % full. Older messages will soon be summarised.`,
  saturated: (percent: number) => `The context is ${percent} % full. Older messages are being summarised.`,
  details: "What the context is made of",
  empty: "No prompt yet.",
  left: (tokens: string) => `${tokens} tokens left`,
  used: (prompt: string, completion: string, cached: string) =>
    `All turns: ${prompt} tokens read, ${completion} written, ${cached} from the cache`,
  cost: "Cost",
  costOfAll: "Cost of this conversation",
  without: (turns: number) => (turns === 1 ? "(without 1 turn of unknown cost)" : `(without ${turns} turns of unknown cost)`),
  unknown: "unknown",
  compressed: (before: string, after: string, percent: number) => `${before} → ${after} tokens, ${percent} % full.`,
  messages: (before: number, after: number) => `${after} of ${before} messages stayed.`,
  strategies: {
    prune: "Outputs of tools were left out of the prompt:",
    truncate: "Messages were shortened or left out of the prompt:",
    summarize: "Older messages were summarised:",
  },
  model: (name: string) => `Model ${name}`,
  window: "Context window",
  longest: "Longest answer",
  prices: "Prices",
  perMillion: (input: string, output: string) => `$${input} in, $${output} out, a million tokens`,
  capabilities: "Capabilities",
  sources: {
    file: "from MODEL_PROFILES",
    server: "from the model's server",
    profile: "from LangChain's profiles",
    assumed: "assumed: nobody knows",
    refusal: "from a refusal of the server",
  } as Record<string, string>,
  notices: {
    context_near_limit: "The context is nearly full.",
    context_trimmed: "The prompt is at its limit: something was shortened or left out of it. Nothing is lost in the store.",
  } as Record<string, string>,
};

export const enActs = {
  title: "Tools that were called",
  running: "running",
  done: "done",
  failed: "failed",
  interrupted: "interrupted",
  by: (agent: string) => `Called by ${agent}`,
  arguments: "Arguments",
  result: "Result",
  resultCut: "Result (beginning)",
  thoughts: "Thoughts",
  plan: "Plan",
  planStates: { pending: "open", in_progress: "in progress", completed: "done" },
};
