import { describe, expect, test } from "@jest/globals";
import { zodFunction, zodResponsesFunction } from "openai/helpers/zod";
import { listConversations } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { MODEL, openClient, says } from "../open-client.ts";
import { answerClients, SAID } from "./client-script.ts";
import { columnsInDocs } from "./clients-table.ts";
import { City, triedNpmClients } from "./npm-clients.ts";

describe("unchanged clients from npm", () => {
  const running = useServiceWithModel();
  const TRIED = triedNpmClients(() => running.url);

  test.each(TRIED)("work as the docs say: $client, $column", async ({ feature, uses, user }) => {
    running.model.answer(answerClients);
    if (feature === "JSON") expect(await uses.JSON(user)).toEqual({ city: "Porto" });
    else if (feature !== "tools") expect(await uses[feature](user)).toBe("Hello there");
    else {
      const asked: string[] = [];
      const answers = await uses.tools(user, ({ city }) => `sunny in ${asked[asked.push(city) - 1]}`);
      expect(asked).toEqual(answers.flatMap(() => ["Porto", "Lagos"]));
      expect(answers).toEqual(answers.map(() => SAID));
      const conversations = await listConversations(running.url, user);
      expect(conversations.map(({ message_count }) => message_count)).toEqual(answers.map(() => 2)); // however many requests it took
    }
  });

  test.each([...new Set(TRIED.map(({ client }) => client))])("are tried here for everything that the docs say of %s", (name) => {
    expect(columnsInDocs(name)).toEqual(TRIED.filter(({ client }) => client === name).map(({ column }) => column));
  });

  test("such as OpenAI's own read arguments by zod in both APIs", async () => {
    running.model.answer(answerClients);
    const { chat, responses } = openClient(running.url, { headers: { "X-User-Id": "zod" } });
    const [completion, called] = await Promise.all([
      chat.completions.parse({ model: MODEL, messages: [says("Weather?")], tools: [zodFunction({ name: "weather", parameters: City })] }),
      responses.parse({ model: MODEL, input: "Weather here?", tools: [zodResponsesFunction({ name: "weather", parameters: City })] }),
    ]);
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([{ function: { parsed_arguments: { city: "Porto" } } }]);
    expect(called.output[0]).toMatchObject({ type: "function_call", parsed_arguments: { city: "Porto" } });
  });
});
