/** Whose data a store call may touch; required everywhere, so that no read or write can forget it. */
export interface Owner {
  tenantId: string;
  userId: string;
}

/** Whose data a look-up by id may find: one user's, or, with null, that of every user of the tenant. */
export interface OwnerScope {
  tenantId: string;
  userId: string | null;
}

/** A conversation and whose it is. */
export interface OwnedConversation extends Owner {
  conversationId: string;
}
