import { listAgents, listKnowledge, readModels } from "../../api/endpoints.ts";
import type { AgentType } from "../../api/types.ts";
import { choices, choose, chooseTemporary } from "../../state/thread/choices.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { useLoaded } from "../loaded.tsx";

const MODES: readonly AgentType[] = ["hybrid_agent", "naive_rag_agent", "chat_agent"];
const GENERAL = "general";

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, shown: string])[];
  onChoose: (value: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">{texts.value.chat.automatic}</option>
        {options.map(([name, shown]) => (
          <option key={name} value={name}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}

function Switch({ label, isOn, onSwitch }: { label: string; isOn: boolean; onSwitch: (isOn: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onSwitch(currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

/** A list that this key may not read stays empty; the turn itself reports the problem. */
async function readOffers() {
  const [agents, models, knowledge] = await Promise.allSettled([listAgents(), readModels(), listKnowledge()]);
  return {
    agents: agents.status === "fulfilled" ? agents.value.agents.filter(({ disabled }) => !disabled).map(({ name }) => name) : [],
    models: models.status === "fulfilled" ? models.value.models.filter(({ choosable }) => choosable).map(({ name }) => name) : [],
    bases: knowledge.status === "fulfilled" ? knowledge.value.knowledge.map(({ kb_prefix }) => kb_prefix) : [],
  };
}

function chosenInWords(): string {
  const t = texts.value.chat;
  const { agent, model, knowledge, mode, isTemporary, isStepping } = choices.value;
  const base = knowledge === GENERAL ? t.none : knowledge;
  const switches = [...(isTemporary ? [t.temporary] : []), ...(isStepping ? [t.stepping] : [])];
  const names = [agent, model, base, mode === "" ? "" : t.agents[mode]].filter((words) => words !== "");
  return [...switches, ...names].join(" · ");
}

/** Agent, model, documents and memory for the next message: folded, with the choices shown. */
export function ComposerOptions() {
  const t = texts.value.chat;
  const { value: offers } = useLoaded(readOffers, [userId.value]);
  const { agents = [], models = [], bases = [] } = offers ?? {};
  const { agent, model, knowledge, mode, isTemporary, isStepping } = choices.value;
  const same = (names: readonly string[]) => names.map((name) => [name, name] as const);
  const chosen = chosenInWords();
  return (
    <details class="composer-options">
      <summary>
        {t.options}
        {chosen !== "" && <span class="badge chosen">{chosen}</span>}
      </summary>
      <div class="composer-choices" role="group" aria-label={t.options}>
        {agents.length > 0 && (
          <Choice label={t.whoAnswers} value={agent} options={same(agents)} onChoose={(name) => choose({ agent: name })} />
        )}
        {models.length > 1 && <Choice label={t.model} value={model} options={same(models)} onChoose={(name) => choose({ model: name })} />}
        <Choice
          label={t.knowledge}
          value={knowledge}
          options={[[GENERAL, t.none], ...same(bases)]}
          onChoose={(name) => choose({ knowledge: name })}
        />
        <Choice
          label={t.agent}
          value={mode}
          options={MODES.map((name) => [name, t.agents[name]])}
          onChoose={(name) => choose({ mode: name as AgentType | "" })}
        />
        <Switch label={t.temporaryExplain} isOn={isTemporary} onSwitch={chooseTemporary} />
        <Switch label={t.stepping} isOn={isStepping} onSwitch={(isOn) => choose({ isStepping: isOn })} />
      </div>
    </details>
  );
}
