/** Said once at the start of the service and of the terminal. The page says it in its own languages. */
export const OFFLINE_REMARK =
  "No model is set up. The built-in offline model only quotes what is remembered; OPENAI_API_KEY or OPENAI_BASE_URL brings a real one.";
