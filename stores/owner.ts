/** Whose data a store call may touch; required everywhere, so that no read or write can forget it. */
export interface Owner {
  tenantId: string;
  userId: string;
}
