import { clearConversations, loadConversations } from "../conversations/conversations.ts";
import { closePanel } from "../page/side-panel.ts";
import { chatAddress, goTo } from "../page/route.ts";
import { chooseUser } from "../page/settings.ts";
import { beginConversation } from "./thread.ts";

export function switchUser(name: string | null): void {
  chooseUser(name);
  clearConversations();
  closePanel();
  goTo(chatAddress());
  beginConversation();
  void loadConversations();
}
