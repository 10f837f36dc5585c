import { Graph, layout } from "@dagrejs/dagre";
import { live, pause, post } from "../api";
import type { Context } from "../context";
import { badge, h, link, list, replace, svg, table, when, type Child, type Kind } from "../dom";
import type { Difference, Drawing, HostDocument, Hosts, Role } from "../types";

const results: Record<string, Kind> = { Applied: "good", Applying: "moving", Pending: "moving", RolledBack: "bad", Failed: "bad", NoNode: "unknown" };

/** What differs on hosts from a document: the name of a host with its differences. */
type Live = { host: string; differences: Difference[] }[];

export function hosts({ body, problem, session, say }: Context): () => void {
  const known = h("div");
  const drafts = editor(say);
  replace(body, session.file ? drafts.element : [known, h("details", { id: "draft" }, h("summary", {}, "Draw a document before it is applied"), drafts.element)]);
  const close = live<Hosts>("hosts", {
    document(doc) {
      problem("");
      if (doc.draft) drafts.load(doc.draft);
      replace(known, doc.roles.length === 0
        ? h("p", {}, "No HostNetworkConfig configures hosts of this cluster; their network is as it was installed.")
        : doc.roles.map(role));
      body.setAttribute("data-ready", "");
    },
    problem,
  });
  return () => { close(); drafts.end(); };
}

/** A text that is drawn as one types. Nothing of it is applied. */
function editor(say: (sentence: string) => void): { element: HTMLElement; load(d: Drawing): void; end(): void } {
  let timer = 0;
  let asking = new AbortController();
  let name = "document.yml";
  const result = h("div", { id: "drawing" });
  const text = h("textarea", { id: "text", rows: 14, spellcheck: "false", autocomplete: "off", input: () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void draw(), pause);
  } });
  function show(d: Drawing): void {
    const empty = text.value.trim() === "";
    replace(result, empty ? null : [
      h("p", {}, badge(d.errors ? "bad" : "good", d.errors ? "has errors" : "valid")),
      list(d.problems, d.errors ? "notes bad" : "notes"),
      d.documents.map((doc, i) => document_(doc, [], "drawn", i === 0))]);
    result.setAttribute("data-drawn", d.errors ? "errors" : "valid");
    if (!empty) say(d.errors ? "The document has errors" : "The document is valid");
  }
  async function draw(): Promise<void> {
    asking.abort();
    asking = new AbortController();
    try {
      show(await post<Drawing>("hosts", { name, text: text.value }, asking.signal));
    } catch (error) {
      if (!(error instanceof DOMException)) replace(result, h("p", { class: "note", role: "alert" }, (error as Error).message));
    }
  }
  const element = h("section", {},
    h("label", { class: "field", for: "text" }, "NMState document, HostNetworkConfig, MachineConfigs, or installer input"),
    text, h("p", { class: "faint" }, "The text is rendered and checked as by cno dayone validate. It is neither applied nor stored."), result);
  return {
    element,
    load(d) { if (!text.value) { name = d.name; text.value = d.text; show(d); } },
    end() { clearTimeout(timer); asking.abort(); },
  };
}

function role(r: Role): HTMLElement {
  const livesOf = (file: string): Live => r.hosts.filter((x) => x.file === file && x.differences).map((x) => ({ host: x.name, differences: x.differences ?? [] }));
  return h("section", {}, h("h2", {}, `${r.name}: hosts with the role ${r.role}`),
    list(r.problems, "notes bad"),
    r.conditions.length > 0 && h("p", { class: "legend" }, r.conditions.map((c) => badge(c.status === "True" ? "good" : c.status === "False" ? "bad" : "unknown", `${c.type}: ${c.status}`))),
    r.documents.map((d, i) => document_(d, livesOf(d.file), r.name, i === 0 || livesOf(d.file).length > 0)),
    r.hosts.length > 0 && table(`Hosts with the role ${r.role}`, ["Host", "Result", "Document", "Reported", "Cause, or differences"], r.hosts.map((x): Child[] => [
      x.node ? link(`/nodes/${encodeURIComponent(x.node)}`, x.name) : x.name, badge(results[x.result] ?? "unknown", x.result), h("span", { class: "name" }, x.file ?? "–"), when(x.time), x.message ?? ""]), "stack"));
}

function document_(d: HostDocument, lives: Live, place: string, open: boolean): HTMLElement {
  return h("details", { id: `document-${place}-${d.file}`, open }, h("summary", {}, d.file),
    h("div", { class: "picture", tabindex: 0, role: "group", "aria-label": `Picture of ${d.file}` }, picture(d, lives)),
    h("p", { class: "faint" }, "Arrows lead from an interface to the one that is built on it.", lives.length > 0 && " Red boxes differ on a live host."),
    table(`Interfaces of ${d.file}`, ["Name", "Type", "State", "Addresses", "Details"], d.interfaces.map((i) => [i.name, i.type, i.state, (i.addresses ?? []).join(", ") || "–", [...(i.details ?? []), i.mtu ? `MTU ${i.mtu}` : ""].filter(Boolean).join(", ")]), "stack"),
    lives.length > 0 && h("p", {}, h("strong", {}, "Differences on live hosts")),
    lives.length > 0 && table(`Differences of live hosts from ${d.file}`, ["Host", "Interface", "Setting", "In the document", "On the host"], lives.flatMap((l) => l.differences.map((x) => [l.host, x.subject, x.aspect, x.want || "none", x.have || "missing"])), "stack"),
    d.routes.length > 0 && h("p", {}, h("strong", {}, "Routes")),
    d.routes.length > 0 && table(`Routes of ${d.file}`, ["Destination", "Next hop", "Interface"], d.routes.map((r) => [r.destination, r.via ?? "–", r.interface ?? "–"]), "stack"),
    d.dns && d.dns.length > 0 && h("p", {}, `DNS servers: ${d.dns.join(", ")}`),
    h("details", { id: `text-${place}-${d.file}` }, h("summary", {}, "The document"), h("pre", { tabindex: 0 }, d.text)));
}

const line = 16;

/** How many hosts with differences the box of an interface names. */
const mostHosts = 3;

/** The differences of an interface, a line for each; one line if more hosts have the same. */
function differencesOf(name: string, lives: Live): string[] {
  const hosts = new Map<string, string[]>();
  for (const { host, differences } of lives) {
    for (const d of differences) {
      if (d.subject !== name) continue;
      const text = `${d.aspect} is ${d.have || "missing"}`;
      hosts.set(text, [...(hosts.get(text) ?? []), host]);
    }
  }
  return [...hosts].map(([text, names]) => `${names.slice(0, mostHosts).join(", ")}${names.length > mostHosts ? ` and ${names.length - mostHosts} more` : ""}: ${text}`);
}

function picture(d: HostDocument, lives: Live): SVGElement {
  const graph = new Graph();
  graph.setGraph({ rankdir: "BT", nodesep: 24, ranksep: 40, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const named = new Map(d.interfaces.map((i) => [i.name, i]));
  const boxes = new Map<string, { text: string[]; differs: string[] }>();
  for (const name of new Set([...named.keys(), ...d.links.flatMap((l) => [l.from, l.to])])) {
    const i = named.get(name);
    const text = [name, ...(i ? [i.type, ...(i.details ?? []), ...(i.mtu ? [`MTU ${i.mtu}`] : []), ...(i.addresses ?? [])] : ["not in the document"])];
    const differs = differencesOf(name, lives);
    const lines = [...text, ...differs];
    boxes.set(name, { text, differs });
    graph.setNode(name, { width: Math.max(...lines.map((t) => t.length)) * 7.6 + 24, height: lines.length * line + 14 });
  }
  for (const l of d.links) graph.setEdge(l.from, l.to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const marker = `arrow-${d.file.replace(/[^a-z0-9]/gi, "-")}`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Interfaces of ${d.file}; the table below has the same` },
    svg("defs", {}, svg("marker", { id: marker, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z", class: "arrow" }))),
    graph.edges().map((e) => {
      const points = (graph.edge(e) as { points: { x: number; y: number }[] }).points;
      return svg("polyline", { points: points.map((p) => `${p.x},${p.y}`).join(" "), class: "edge", "marker-end": `url(#${marker})` });
    }),
    graph.nodes().map((name) => {
      const n = graph.node(name) as { x: number; y: number; width: number; height: number };
      const { text, differs } = boxes.get(name)!;
      const i = named.get(name);
      return svg("g", {}, svg("rect", { x: n.x - n.width / 2, y: n.y - n.height / 2, width: n.width, height: n.height, rx: 6, class: `box ${differs.length > 0 ? "differs" : i ? i.state : "foreign"}` }),
        [...text, ...differs].map((t, k) => svg("text", { x: n.x, y: n.y - n.height / 2 + (k + 1) * line + 2, "text-anchor": "middle", class: k === 0 ? "strong" : k >= text.length ? "differs" : "" }, t)));
    }));
}
