/** Whose data a store call may touch. Required everywhere, so that nothing forgets it. */
export interface Owner {
  tenantId: string;
  userId: string;
}

/** One user, or (null) the whole tenant. */
export interface OwnerScope {
  tenantId: string;
  userId: string | null;
}

export interface OwnedConversation extends Owner {
  conversationId: string;
}
