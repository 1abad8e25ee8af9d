/** Whose data a store call may touch: required everywhere, so that nothing forgets it. */
export interface Owner {
  tenantId: string;
  userId: string;
}

/** Whose data a look-up by id may find: one user, or with null the whole tenant. */
export interface OwnerScope {
  tenantId: string;
  userId: string | null;
}

/** A conversation and its owner. */
export interface OwnedConversation extends Owner {
  conversationId: string;
}
