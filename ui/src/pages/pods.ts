import { get, live, pause } from "../api";
import type { Context } from "../context";
import { badge, h, link, list, replace } from "../dom";
import type { PodNames, Way } from "../types";

export function pods({ body, problem, say }: Context, _: string, query: URLSearchParams): () => void {
  let timer = 0;
  let asking = new AbortController();
  let close = () => {};
  const options = h("datalist", { id: "pods-found" });
  const notes = h("div");
  const pod = (id: string, placeholder: string) => h("input", { id, list: "pods-found", value: query.get(id) ?? "", autocomplete: "off", spellcheck: "false", placeholder, required: true, input: (e: Event) => soon((e.target as HTMLInputElement).value) });
  const from = pod("from", "namespace/pod"), to = pod("to", "namespace/pod or namespace/service");
  const port = h("input", { id: "port", type: "number", min: 1, max: 65535, value: query.get("port") ?? "80", required: true });
  const protocol = h("select", { id: "protocol" }, ["TCP", "UDP", "SCTP"].map((p) => h("option", { selected: p === query.get("protocol") }, p)));
  const answer = h("section", { id: "way" });

  function soon(text: string): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => void search(text), pause);
  }
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
  function ask(): void {
    close();
    const parameters = { from: from.value, to: to.value, port: port.value, protocol: protocol.value };
    globalThis.history.replaceState(null, "", `/pods?${new URLSearchParams(parameters)}`);
    replace(answer, h("p", { class: "faint" }, "Reading the objects of the cluster"));
    let before = "";
    close = live<Way>("way", {
      document(way) {
        const sentence = way.passes ? "No object of the cluster blocks the packet." : "The packet is blocked.";
        if (sentence !== before) say(sentence);
        before = sentence;
        replace(answer, h("h2", {}, "Path of the packet"),
          h("p", { class: "sentence" }, sentence),
          h("ol", { class: "way" }, way.steps.map((s) => h("li", { class: s.ok ? "good" : "bad" }, badge(s.ok ? "good" : "bad", s.ok ? "passes" : "blocks"), " ",
            h("strong", {}, s.where.startsWith("node ") ? link(`/nodes/${encodeURIComponent(s.where.slice(5))}`, s.where) : s.where), ` ${s.what}`))),
          list(way.notes, "notes"));
      },
      problem(sentence) { replace(answer, h("p", { class: "note", role: "alert" }, sentence)); },
    }, parameters);
  }
  replace(body, h("p", {}, "Choose two pods to see the path of a packet from one to the other, and what blocks it."),
    h("form", { class: "row", submit: (e: Event) => { e.preventDefault(); ask(); } },
      h("label", { class: "field" }, "From", from), h("label", { class: "field" }, "To", to), h("label", { class: "field" }, "Port", port), h("label", { class: "field" }, "Protocol", protocol), h("button", { id: "show", type: "submit" }, "Show")),
    options, notes, answer);
  void search("").then(() => { body.setAttribute("data-ready", ""); if (from.value && to.value) ask(); });
  return () => { clearTimeout(timer); asking.abort(); close(); };
}
