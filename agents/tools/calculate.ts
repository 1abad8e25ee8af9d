import { tool } from "@langchain/core/tools";
import type { MathNode } from "mathjs/number";
import { z } from "zod";
import { ToolError } from "../run-tool-call.ts";
import type { AgentTool } from "../tool.ts";

/** All allowed names. None takes longer for larger numbers, or touches the parser. */
const NAMES = new Set(
  `abs add and acos acosh acot acoth acsc acsch asec asech asin asinh atan atan2 atanh bitAnd bitNot bitOr bitXor cbrt ceil combinations
  compare cos cosh cot coth csc csch cube divide e equal erf exp expm1 factorial fix floor gamma gcd hypot Infinity isInteger isNegative isPositive
  isZero larger largerEq lcm leftShift lgamma LN10 LN2 log log10 log1p log2 LOG10E LOG2E max mean median min mod multiply NaN not nthRoot or phi pi
  pow prod random randomInt rightArithShift rightLogShift round sec sech sign sin sinh smaller smallerEq sqrt SQRT1_2 SQRT2 square std subtract
  sum tan tanh tau unaryMinus unaryPlus unequal variance xor`.split(/\s+/),
);

/** Excludes assignments, functions, texts, lists and objects, which could run for very long. */
const KINDS = new Set([
  "ConditionalNode",
  "ConstantNode",
  "FunctionNode",
  "OperatorNode",
  "ParenthesisNode",
  "RelationalNode",
  "SymbolNode",
]);

/** A larger group makes a number too large to write. */
const MOST_CHOSEN = 1_100;

const loadParser = async () => {
  const { create, all } = await import("mathjs/number");
  const math = create(all ?? {});
  const choose = math.combinations.bind(math) as (all: number, chosen: number) => number;
  const combinations = (many: number, chosen: number): number =>
    Math.min(chosen, many - chosen) > MOST_CHOSEN ? Infinity : choose(many, chosen);
  math.import({ combinations }, { override: true });

  return (expression: string): unknown => {
    const parsed = math.parse(expression);
    parsed.traverse((node: MathNode) => {
      if (!KINDS.has(node.type)) throw new Error("an expression has numbers, operators and functions only");
      if ("name" in node && node.type === "SymbolNode" && !NAMES.has(node.name as string))
        throw new Error(`there is no "${String(node.name)}"`);
    });
    return parsed.evaluate() as unknown;
  };
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
        const value = evaluate(expression);
        if (typeof value === "number" || typeof value === "boolean") return String(value);
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
