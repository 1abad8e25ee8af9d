import { openService } from "conversation-graph";

// Every setting of docs/configuration.md may be given; nothing is read from the environment.
const service = await openService({ DATA_DIR: "memory://" });
const told = await service.ask({ userId: "ada", sessionId: "monday", message: "I live in Lisbon." });
await service.settle({ userId: "ada", conversationId: told.conversation_id }); // memory is written behind the answer
const { answer } = await service.ask({ userId: "ada", sessionId: "friday", message: "Where do I live?" });
console.log(answer); // What I know about you: "Lives in Lisbon."
await service.close(); // createServer(service.app).listen(8000) would serve it over HTTP
