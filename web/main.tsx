import { render } from "preact";
import { watchConversations } from "./state/conversations/conversations.ts";
import { watchTemporary } from "./state/thread/leave-temporary.ts";
import { watchQuestions } from "./state/turns/questions.ts";
import { followPlace } from "./state/thread/thread.ts";
import { resumeKeptTurns } from "./state/turns/turns.ts";
import { loadTexts } from "./texts/texts.ts";
import { App } from "./views/app/app.tsx";

const page = document.getElementById("page");
if (!page) throw new Error("index.html has no element with the id page");
await loadTexts();
resumeKeptTurns();
watchTemporary();
followPlace();
watchQuestions();
watchConversations();
render(<App />, page);
