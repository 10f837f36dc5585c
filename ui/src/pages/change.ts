import { parseDocument } from "yaml";
import { get, live, pause, post, Problem } from "../api";
import type { Context } from "../context";
import { h, list, replace } from "../dom";
import { Form } from "../form";
import { acknowledgement, planView } from "../plan";
import type { ChangeDocument, Overview, Plan } from "../types";
import { rollout } from "./overview";

export function change(context: Context): () => void {
  const { body, problem, session } = context;
  const ends: (() => void)[] = [];
  void get<ChangeDocument>("change").then((doc) => { ends.push(editor(context, doc)); }, (e: Error) => problem(e.message));
  if (!session.archive) {
    // What is being rolled out is seen beside the editor.
    ends.push(live<Overview>("overview", {
      document(doc) {
        const place = body.querySelector("#rollout");
        if (place) replace(place, doc.rollout ? rollout(doc.rollout) : h("p", { class: "faint" }, doc.sentence));
      },
      problem: () => {},
    }));
  }
  return () => ends.forEach((end) => end());
}

function editor({ body, problem, say, session }: Context, doc: ChangeDocument): () => void {
  let timer = 0;
  let asking = new AbortController();
  let plan: Plan | undefined;
  let acknowledged = "";
  let current = parseDocument(doc.yaml);
  const yaml = h("textarea", { id: "yaml", rows: 24, spellcheck: "false", autocomplete: "off", "aria-label": "YAML of the configuration", input: () => {
    current = parseDocument(yaml.value);
    if (current.errors.length === 0) form.load(current);
    soon();
  } });
  yaml.value = doc.yaml;
  const form = new Form(doc.schema, current, () => { yaml.value = String(current); soon(); });

  const result = h("section", { "aria-live": "polite", id: "plan" });
  const force = h("input", { id: "force", type: "checkbox" });
  const apply = h("button", { id: "apply", disabled: true, click: () => void submit() }, "Apply");
  const done = h("div", { role: "status" });

  function buttons(): void {
    apply.disabled = !session.mayChange || !plan || plan.decision === "unchanged" || !(plan.applies || (plan.acknowledgement !== undefined && plan.acknowledgement !== "" && acknowledged === plan.acknowledgement));
  }
  function show(p: Plan): void {
    if (p.acknowledgement !== plan?.acknowledgement || p.generation !== plan?.generation) acknowledged = "";
    plan = p;
    replace(result, planView(p), session.mayChange && acknowledgement(p, (hash) => { acknowledged = hash; buttons(); }));
    const box = document.getElementById("acknowledge") as HTMLInputElement | null;
    if (box) box.checked = acknowledged !== "";
    result.setAttribute("data-decision", p.decision);
    buttons();
  }
  function soon(): void {
    clearTimeout(timer);
    plan = undefined;
    buttons();
    result.removeAttribute("data-decision");
    timer = window.setTimeout(() => void ask(), pause);
  }
  async function ask(): Promise<void> {
    if (session.archive) return;
    asking.abort();
    asking = new AbortController();
    try {
      show(await post<Plan>("plan", { yaml: yaml.value }, asking.signal));
      problem("");
    } catch (error) {
      if (error instanceof DOMException) return;
      replace(result, h("p", { class: "note" }, (error as Error).message));
    }
  }
  async function submit(): Promise<void> {
    apply.disabled = true;
    try {
      const p = await post<Plan>("apply", { yaml: yaml.value, acknowledge: acknowledged, force: force.checked, generation: plan?.generation ?? 0 });
      show(p);
      replace(done, h("p", { class: "sentence" }, p.applied ? `Applied as generation ${p.generation}.` : "Not applied: see the plan."));
      if (p.applied) say("Applied");
    } catch (error) {
      replace(done, h("p", { class: "note" }, (error as Error).message));
      // The network may have changed since the plan: only a plan that was shown is applied.
      if (error instanceof Problem && error.status === 409) await ask();
      buttons();
    }
  }
  const tabs = ["Form", "YAML"] as const;
  const panels = { Form: form.element, YAML: h("div", {}, yaml) };
  const choose = (name: typeof tabs[number]) => {
    for (const t of tabs) {
      panels[t].hidden = t !== name;
      const b = document.getElementById(`tab-${t}`);
      b?.setAttribute("aria-pressed", String(t === name));
    }
  };
  replace(body,
    doc.shortForm && h("p", { class: "note" }, "NetworkConfig/default configures this network and would undo a change of Network/cluster: change that object instead."),
    !doc.exists && h("p", { class: "note" }, "There is no network yet; this is a sample to start from."),
    h("div", { class: "two" },
      h("section", {}, h("h2", {}, "Configuration"), h("p", { class: "tabs" }, tabs.map((t) => h("button", { id: `tab-${t}`, type: "button", click: () => choose(t) }, t))), panels.Form, panels.YAML),
      h("section", { class: "beside", tabindex: 0, "aria-label": "Plan" }, h("h2", {}, "Plan"), result,
        session.mayChange ? [h("p", {}, apply), h("label", { class: "check" }, force, " Take over fields that another field manager has set."), done]
          : list([session.archive ? "An archive cannot be changed." : "This user may not change the network; the plan is all that this page can do."], "notes"),
        h("div", { id: "rollout" }))));
  choose("Form");
  body.setAttribute("data-ready", "");
  void ask();
  return () => { clearTimeout(timer); asking.abort(); };
}
