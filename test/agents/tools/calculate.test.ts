import { expect, test } from "@jest/globals";
import { calculate } from "../../../agents/tools/calculate.ts";

const evaluate = (expression: string): Promise<unknown> => calculate.tool.invoke({ expression }) as Promise<unknown>;

test.each([
  ["(3 + 4) * 2", "14"],
  ["-2^2", "-4"],
  ["15% * 80", "12"],
  ["7 mod 3", "1"],
  ["5!", "120"],
  ["sqrt(2) * sqrt(2)", "2.0000000000000004"],
  ["round(2.567, 2)", "2.57"],
  ["mean(1, 2, 6)", "3"],
  ["combinations(49, 6)", "13983816"],
  ["2 > 1 ? 10 : 20", "10"],
  ["1 < 2 < 3", "true"],
  ["2 * pi", "6.283185307179586"],
])("%s is %s", async (expression, value) => expect(await evaluate(expression)).toBe(value));

test.each([
  ["a function of its own", "f(x) = x > 0 ? f(x - 1) + f(x - 1) : 0; f(99)"],
  ["several expressions", "1; 2"],
  ["an assignment", "sqrt = 5"],
  ["a text", '"a"'],
  ["a list", "[1, 2]"],
  ["a range", "1:1e9"],
  ["an object", "{a: 1}"],
  ["a property", "sqrt.constructor"],
  ["a call of a property", 'cos.constructor("return process")()'],
  ["code", "process.exit()"],
  ["a name that there is not", "constructor"],
  ["the prototype", "__proto__"],
  ["the settings of the parser", "config({})"],
  ["the parser", "parser()"],
  ["an expression within", 'evaluate("1")'],
  ["an import", "import({})"],
  ["a function that counts for long", "isPrime(9007199254740881)"],
  ["another one", "bellNumbers(1e9)"],
  ["brackets without end", "(".repeat(1_000)],
  ["nothing", " "],
  ["a NUL", "1\0+1"],
])("%s is refused, and the model is told so", async (_what, expression) => {
  await expect(evaluate(expression)).rejects.toMatchObject({
    code: "invalid_expression",
    fix: expect.stringMatching(/expression/) as unknown,
  });
});

test("numbers that would be counted up to are not", async () => {
  expect(await evaluate("combinations(9e15, 4e15)")).toBe("Infinity");
  expect(await evaluate("factorial(1e300) + gamma(1e300)")).toBe("Infinity");
});

test("an expression has at most 1,000 characters", async () => {
  expect(await evaluate(`${"-".repeat(998)}10`)).toBe("10");
  await expect(evaluate("1".repeat(1_001))).rejects.toThrow("1000 characters");
});
