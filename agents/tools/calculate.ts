import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { ToolError } from "../run-tool-call.ts";
import type { AgentTool } from "../tool.ts";

/** Only numbers: no matrices, units or loops, so that an expression cannot run for long. */
const loadParser = async () => {
  const { create, all } = await import("mathjs/number");
  const math = create(all ?? {});
  const evaluate = math.evaluate.bind(math);
  const refuse = (): never => {
    throw new Error("this function is switched off");
  };
  // What reads or changes the parser itself: https://mathjs.org/docs/expressions/security.html
  math.import(
    Object.fromEntries(
      ["import", "createUnit", "reviver", "evaluate", "parse", "simplify", "derivative", "resolve", "compile"].map((name) => [
        name,
        refuse,
      ]),
    ),
    { override: true },
  );
  return evaluate;
};

let parser: ReturnType<typeof loadParser> | undefined;

const MAX_CHARACTERS = 1_000;

export const calculate: AgentTool = {
  name: "calculate",
  isHarmless: true,
  onlyReads: true,
  tool: tool(
    async ({ expression }) => {
      const evaluate = await (parser ??= loadParser());
      try {
        const value: unknown = evaluate(expression);
        if (typeof value === "number" || typeof value === "boolean" || typeof value === "string") return String(value);
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        throw new ToolError(
          "invalid_expression",
          `"${expression.slice(0, 100)}" cannot be calculated: ${problem}`,
          "Correct the expression.",
        );
      }
      throw new ToolError("invalid_expression", "The expression has no number as its value.", "Write one expression, such as (3 + 4) * 2.");
    },
    {
      name: "calculate",
      description: "Calculates an expression of numbers, such as (3 + 4) * sqrt(2) or 15% of 80 as 0.15 * 80.",
      schema: z.strictObject({ expression: z.string().min(1).max(MAX_CHARACTERS) }),
    },
  ),
};
