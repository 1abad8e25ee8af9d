import { createConversationGraph, migrate, OfflineChatModel, openEmbeddedPostgres, startTurn } from "conversation-graph";

// The caller opens the stores, the graph only uses them, and the caller closes them.
const database = await openEmbeddedPostgres("memory://");
await migrate(database);
const graph = createConversationGraph({ database, chatModel: new OfflineChatModel() });

for (const message of ["My name is Ada and I live in Lisbon.", "Where do I live?"]) {
  const turn = startTurn(graph, { userId: "ada", sessionId: "first", message });
  for await (const event of turn.events()) {
    if (event.status === "token") process.stdout.write(event.content);
    if (event.status === "done") console.log(`\n(message ${event.content.message_id}, ${event.content.usage.total_tokens} tokens)`);
  }
}

await database.close();
