import { expect, test } from "@jest/globals";
import { STORIES } from "../../support/samples/stories.ts";
import { useServiceOnFolder } from "../../support/services/service-on-folder.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";

const running = useServiceOnFolder();

test.each(STORIES)(
  "a service with nothing configured answers from what it was told: %s %s %s",
  async (told, changed, question, holds, holdsNot) => {
    const { say, settle } = conversationApi(running.url);
    for (const message of [told, changed]) await settle((await say(question, message, "monday")).conversation_id);
    const { answer } = await say(question, question, "friday");
    expect(answer).toContain(holds);
    expect(answer).not.toContain(holdsNot);
    expect(answer).toMatch(/^(?:What I know about you: "|You said earlier: "|关于你，我知道：“|你之前说过：“)[^"”]+["”]$/);
  },
);
