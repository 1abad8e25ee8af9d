import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "@jest/globals";
import { pythonEnvironment } from "../../../servers/python-environment.ts";
import { describeUnless } from "../../../support/describe-unless.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { answerClients, SAID } from "./client-script.ts";
import { columnsInDocs } from "./clients-table.ts";

const PROGRAM = fileURLToPath(new URL("pypi_clients.py", import.meta.url));
const most = await pythonEnvironment(["openai==3.54.0", "pydantic-ai-slim[openai]==2.68.0", "openai-agents==0.24.0"]);
const ofLiteLLM = await pythonEnvironment(["litellm==1.106.2", "mcp"]); // it goes with other versions of the same packages

/** By the end of a column's name. */
const EXPECTED: [ending: string, result: string][] = [
  ["whole", "Hello there"],
  ["streamed", "Hello there"],
  ["tools", SAID],
  ["JSON", "Porto"],
];
const expected = (column: string): string | undefined => EXPECTED.find(([ending]) => column.endsWith(ending))?.[1];

describeUnless(most.missing ?? ofLiteLLM.missing, "with unchanged packages from PyPI,", () => {
  const running = useServiceWithModel();
  beforeEach(() => running.model.answer(answerClients));

  test.each([
    ["PyPI `openai`", "openai"],
    ["`pydantic-ai-slim`", "pydantic_ai"],
    ["`openai-agents`", "agents"],
    ["`litellm`", "litellm"],
  ])("%s does what the docs say", async (client, story) => {
    const { python } = story === "litellm" ? ofLiteLLM : most;
    const { stdout } = await promisify(execFile)(python, [PROGRAM, `${running.url}/v1`, story]);
    const columns = columnsInDocs(client);
    expect(columns).not.toEqual([]);
    expect(JSON.parse(stdout)).toEqual(Object.fromEntries(columns.map((column) => [column, expected(column)])));
  });
});
