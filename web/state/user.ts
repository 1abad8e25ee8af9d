import { clearConversations, loadConversations } from "./conversations.ts";
import { inspected } from "./inspected.ts";
import { chatAddress, goTo } from "./route.ts";
import { chooseUser } from "./settings.ts";
import { beginConversation } from "./thread.ts";

export function switchUser(name: string | null): void {
  chooseUser(name);
  clearConversations();
  inspected.value = null;
  goTo(chatAddress());
  beginConversation();
  void loadConversations();
}
