// Elements by function calls: no text is ever read as HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Value = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Value>;

const svgNamespace = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as (event: Event) => void);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
}

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.append(child);
    else if (child !== null && child !== undefined && child !== false) parent.append(String(child));
  }
}

/** Makes an HTML element. Functions among the attributes are listeners of the event of their name. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** Makes an SVG element. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(svgNamespace, tag);
  fill(element, attributes, children);
  return element;
}

/** Puts children in the place of those that an element has. The focus stays on the element with the same id, and sections stay open or closed. */
export function replace(parent: Element, ...children: Child[]): void {
  const focused = document.activeElement;
  const id = focused && parent.contains(focused) ? focused.id : "";
  const open = new Map([...parent.querySelectorAll<HTMLDetailsElement>("details[id]")].map((d) => [d.id, d.open]));
  parent.replaceChildren();
  append(parent, children);
  for (const d of parent.querySelectorAll<HTMLDetailsElement>("details[id]")) d.open = open.get(d.id) ?? d.open;
  if (id) document.getElementById(id)?.focus({ preventScroll: true });
}

/** Makes a table. Its name is read to people who do not see it; it can be scrolled by keyboard. */
export function table(name: string, heads: Child[], rows: Child[][], classes = ""): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
    h("table", { class: classes },
      h("caption", { class: "hidden" }, name),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => i === 0 ? h("th", { scope: "row" }, cell) : h("td", { "data-label": typeof heads[i] === "string" ? heads[i] as string : null }, cell)))))));
}

/** A word with a colour and a sign: its meaning does not depend on the colour. */
export function badge(kind: Kind, text: string): HTMLElement {
  return h("span", { class: `badge ${kind}` }, h("span", { "aria-hidden": "true" }, signs[kind]), " ", text);
}

export type Kind = "good" | "moving" | "bad" | "unknown";
const signs: Record<Kind, string> = { good: "●", moving: "◐", bad: "▲", unknown: "○" };

/** How long ago something was, in the largest unit that is not 0. */
export function ago(time: string | undefined): string {
  if (!time) return "";
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]] as const) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return `${Math.floor(seconds)} s`;
}

/** A time as an element that also has it in full. */
export function when(time: string | undefined): Child {
  if (!time) return "";
  return h("time", { datetime: time, title: new Date(time).toLocaleString() }, `${ago(time)} ago`);
}

/** A link to another page of this program. */
export function link(path: string, ...children: Child[]): HTMLElement {
  return h("a", { href: path }, ...children);
}

export function list(items: Child[] | undefined, classes = ""): Child {
  return items && items.length > 0 && h("ul", { class: classes }, items.map((i) => h("li", {}, i)));
}
