import { get } from "../api";
import { badge, h, link, list, replace } from "../dom";
import type { Context } from "../main";
import type { PodNames, Way } from "../types";

export function pods({ body, problem }: Context, _: string, query: URLSearchParams): () => void {
  let asking = new AbortController();
  const options = h("datalist", { id: "pods-found" });
  const notes = h("div");
  const pod = (id: string) => h("input", { id, list: "pods-found", value: query.get(id) ?? "", autocomplete: "off", spellcheck: "false", placeholder: "namespace/name", required: true, input: (e: Event) => void search((e.target as HTMLInputElement).value) });
  const from = pod("from"), to = pod("to");
  const port = h("input", { id: "port", type: "number", min: 1, max: 65535, value: query.get("port") ?? "80", required: true });
  const protocol = h("select", { id: "protocol" }, ["TCP", "UDP", "SCTP"].map((p) => h("option", { selected: p === query.get("protocol") }, p)));
  const answer = h("section", { "aria-live": "polite", id: "way" });

  async function search(text: string): Promise<void> {
    asking.abort();
    asking = new AbortController();
    try {
      const found = await get<PodNames>(`pods?search=${encodeURIComponent(text)}`, asking.signal);
      replace(options, found.pods.map((p) => h("option", { value: `${p.namespace}/${p.name}` }, p.node ?? "")));
      replace(notes, list(found.notes, "notes"));
      problem("");
    } catch (error) { if (!(error instanceof DOMException)) problem((error as Error).message); }
  }
  async function ask(): Promise<void> {
    const parameters = new URLSearchParams({ from: from.value, to: to.value, port: port.value, protocol: protocol.value });
    globalThis.history.replaceState(null, "", `/pods?${parameters}`);
    try {
      const way = await get<Way>(`way?${parameters}`);
      replace(answer, h("h2", {}, "The way of a packet"),
        h("p", { class: "sentence" }, way.passes ? "Nothing that the cluster's objects say stops it." : "It is stopped."),
        h("ol", { class: "way" }, way.steps.map((s) => h("li", { class: s.ok ? "good" : "bad" }, badge(s.ok ? "good" : "bad", s.ok ? "passes" : "stops"), " ",
          h("strong", {}, s.where.startsWith("node ") ? link(`/nodes/${encodeURIComponent(s.where.slice(5))}`, s.where) : s.where), ` ${s.what}`))),
        list(way.notes, "notes"));
    } catch (error) { replace(answer, h("p", { class: "note" }, (error as Error).message)); }
  }
  replace(body, h("p", {}, "Choose two pods to see the way of a packet from one to the other, and what stops it."),
    h("form", { class: "row", submit: (e: Event) => { e.preventDefault(); void ask(); } },
      h("label", { class: "field" }, "From", from), h("label", { class: "field" }, "To", to), h("label", { class: "field" }, "Port", port), h("label", { class: "field" }, "Protocol", protocol), h("button", { id: "show", type: "submit" }, "Show")),
    options, notes, answer);
  void search("").then(() => { body.setAttribute("data-ready", ""); if (from.value && to.value) void ask(); });
  return () => asking.abort();
}
