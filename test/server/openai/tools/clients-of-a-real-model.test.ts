import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { smallModelMissing, startSmallModel } from "../../../servers/small-model-server.ts";
import { describeUnless } from "../../../support/describe-unless.ts";
import { openTestService } from "../../../support/services/service.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { triedNpmClients } from "./npm-clients.ts";

const TEMPLATE = fileURLToPath(new URL("../../../../examples/support-agent/tools.jinja", import.meta.url));
const PATIENCE_MS = 300_000;

/** With this template a model of 135 million parameters calls the first tool, and repeats its result. */
async function openServiceWithSmallModel() {
  const options = ["--chat-template-file", TEMPLATE, "--temp", "0", "-n", "300"];
  const model = await startSmallModel({ context: 8_192, slots: 1, options });
  const patience = { MODEL_FIRST_TOKEN_TIMEOUT_MS: String(PATIENCE_MS), MODEL_IDLE_TIMEOUT_MS: String(PATIENCE_MS) };
  const service = await openTestService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "small", ...patience });
  return { url: service.url, close: () => service.close().finally(() => model.stop()) };
}

describeUnless(smallModelMissing, "clients from npm with a small model on llama.cpp behind the service", () => {
  const running = useOpened(openServiceWithSmallModel, PATIENCE_MS);

  test.each(triedNpmClients(() => running.url))(
    "work as the docs say: $client, $column",
    async ({ feature, uses, user }) => {
      if (feature === "JSON") expect(await uses.JSON(user)).toEqual({ city: expect.any(String) });
      else if (feature !== "tools") expect(await uses[feature](user)).toMatch(/\w/);
      else {
        const asked: string[] = [];
        const answers = await uses.tools(user, ({ city }) => `sunny in ${asked[asked.push(city) - 1]}`);
        expect(asked.length).toBeGreaterThanOrEqual(answers.length);
        for (const answer of answers) expect(answer).toContain("sunny in");
      }
    },
    PATIENCE_MS,
  );
});
