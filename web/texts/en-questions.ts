/** What turns ask, in English. */
export const enQuestions = {
  types: { permission: "Permission", clarification: "Question", decision: "Decision", client_tool: "Waiting for an application" } as Record<
    string,
    string
  >,
  permission: (agent: string, tool: string) => `${agent} wants to call ${tool}. May it?`,
  clientTool: "The application that sent this message runs the call and sends its result.",
  noArguments: "No arguments",
  arguments: "Arguments",
  options: { allow_once: "Allow once", allow_always: "Always allow", deny: "Deny" } as Record<string, string>,
  explained: {
    allow_once: "Only this call runs.",
    allow_always: "This agent may use this tool without asking.",
    deny: "The call does not run.",
  } as Record<string, string>,
  recommended: "recommended",
  ownWords: "In your own words",
  remark: "A remark (optional)",
  answer: "Answer",
  left: (time: string) => `${time} left`,
  timeIsUp: "Time is up",
  waits: "waits for you",
  asks: (question: string) => `The assistant asks: ${question}`,
  answered: (answer: string) => `Answered: ${answer}`,
  inTime: "Nobody answered in time.",
  counted: (answer: string) => `This counted: ${answer}`,
  byRule: "Nobody could be asked.",
  elsewhere: "This question is closed.",
  bell: (count: number) =>
    count === 0 ? "Nothing waits for you" : count === 1 ? "1 question waits for you" : `${count} questions wait for you`,
  waiting: "Waiting for you",
  by: (agent: string) => `Asked by ${agent}`,
};
