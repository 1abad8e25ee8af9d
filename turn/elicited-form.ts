/** As the protocol has them. */
export type FormValue = string | number | boolean | string[];

/** One of the values that a field may have, and the words by which a person chooses it. */
export interface FormChoice {
  label: string;
  value: FormValue;
}

export interface FormField {
  name: string;
  /** What it is, in the words of the server. */
  about: string;
  required: boolean;
  /** Null: any words that fit the schema. */
  choices: FormChoice[] | null;
  /** Several of the choices may be chosen. */
  severally: boolean;
  /** What the server takes when nothing is said. Undefined: nothing. */
  usual?: unknown;
  /** JSON schema of the value, without patterns. */
  schema: Record<string, unknown>;
}

/** What the server of a tool asks the person in the middle of a call. Without fields it asks for consent. */
export interface ElicitedForm {
  server: string;
  message: string;
  fields: FormField[];
}

/** A form with what the person has said so far. */
export interface FilledForm extends ElicitedForm {
  content: Record<string, FormValue>;
  /** How many fields are done. */
  done: number;
  /** Why the last answer did not fit. */
  problem: string | null;
  state: "open" | "accepted" | "declined" | "unanswered";
}

/** What somebody has answered to a server's form, word for word as it is. Null: nobody has, yet. */
export type Elicit = (form: ElicitedForm) => Record<string, FormValue> | null;
