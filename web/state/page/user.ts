import { clearConversations, loadConversations } from "../conversations/conversations.ts";
import { closePanel } from "./side-panel.ts";
import { chatAddress, goTo } from "./route.ts";
import { chooseUser } from "./settings.ts";
import { beginConversation } from "../thread/thread.ts";

export function switchUser(name: string | null): void {
  chooseUser(name);
  clearConversations();
  closePanel();
  goTo(chatAddress());
  beginConversation();
  void loadConversations();
}
