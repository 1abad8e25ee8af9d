export type FormValue = string | number | boolean | string[];

/** A value that a field may have, and the words to choose it by. */
export interface FormChoice {
  label: string;
  value: FormValue;
}

export interface FormField {
  name: string;
  /** The server's description. */
  about: string;
  required: boolean;
  /** Null: any words that fit the schema. */
  choices: FormChoice[] | null;
  severally: boolean;
  /** The server's default; undefined: none. */
  usual?: unknown;
  /** JSON schema of the value, without patterns. */
  schema: Record<string, unknown>;
}

/** What a tool's server asks the person during a call. Without fields it asks for consent. */
export interface ElicitedForm {
  server: string;
  message: string;
  fields: FormField[];
}

/** A form with the person's answers so far. */
export interface FilledForm extends ElicitedForm {
  content: Record<string, FormValue>;
  /** How many fields are done. */
  done: number;
  /** Why the last answer did not fit. */
  problem: string | null;
  state: "open" | "accepted" | "declined" | "unanswered";
}

/** The person's answer to this exact form; null: none yet. */
export type Elicit = (form: ElicitedForm) => Record<string, FormValue> | null;
