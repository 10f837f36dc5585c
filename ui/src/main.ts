import { get, takeKey } from "./api";
import type { Context } from "./context";
import { h, replace, type Child } from "./dom";
import type { Session } from "./types";
import { change } from "./pages/change";
import { history } from "./pages/history";
import { hosts } from "./pages/hosts";
import { node, nodes } from "./pages/nodes";
import { overview } from "./pages/overview";
import { paths } from "./pages/paths";
import { pods } from "./pages/pods";

type Page = (context: Context, name: string, query: URLSearchParams) => () => void;

const menu: [path: string, title: string, page: Page][] = [
  ["/", "Overview", overview], ["/nodes", "Nodes", nodes], ["/paths", "Paths", paths], ["/change", "Change", change],
  ["/history", "History", history], ["/hosts", "Hosts", hosts], ["/pods", "Pod to pod", pods],
];

const title = h("h1", { tabindex: -1, id: "title" });
const body = h("div", { id: "body" });
const alert = h("div", { class: "alert", role: "alert" });
const status = h("div", { class: "hidden", role: "status", "aria-live": "polite" });
const navigation = h("ul");
let end = () => {};

function found(path: string): { page: Page; title: string; name: string; menu: string } {
  const [, first = "", name = ""] = path.split("/");
  if (first === "nodes" && name) return { page: node, title: decodeURIComponent(name), name: decodeURIComponent(name), menu: "/nodes" };
  const entry = menu.find(([p]) => p === `/${first}`) ?? menu[0]!;
  return { page: entry[2], title: entry[1], name: "", menu: entry[0] };
}

function show(session: Session, first: boolean): void {
  end();
  const at = found(location.pathname);
  title.textContent = at.title;
  document.title = `${at.title} – ${session.name}`;
  replace(navigation, menu.filter(([path]) => !session.file || path === "/hosts").map(([path, text]) => h("li", {}, h("a", { href: path, "aria-current": path === at.menu ? "page" : null }, text))));
  replace(alert);
  body.replaceChildren(h("p", { class: "faint" }, "Loading"));
  body.removeAttribute("data-ready");
  const context: Context = {
    body, session,
    problem: (sentence) => replace(alert, sentence && h("p", {}, sentence)),
    say: (sentence) => { status.textContent = sentence; },
  };
  end = at.page(context, at.name, new URLSearchParams(location.search));
  if (!first) { title.focus(); scrollTo(0, 0); }
}

function shell(session: Session): Child[] {
  return [
    h("a", { class: "skip", href: "#title" }, "Skip to content"),
    h("header", {},
      h("p", { class: "brand" }, "Cluster network", h("span", { class: "faint" }, session.archive ? `archive ${session.name}` : session.file ? `file ${session.name}` : session.name)),
      h("nav", { "aria-label": "Pages" }, navigation)),
    h("main", {}, title, alert, body),
    h("footer", { class: "faint" }, `cno ${session.version}. `, session.archive ? "An archive does not change." : session.mayChange || session.file ? "" : "This user may read only. ",
      h("a", { href: "/assets/licences.txt" }, "Licences")),
    status,
  ];
}

async function start(): Promise<void> {
  let session: Session;
  try {
    session = await get<Session>("session");
  } catch (error) {
    replace(document.body, h("main", {}, h("h1", {}, "Cluster network"), h("p", { role: "alert" }, (error as Error).message)));
    return;
  }
  replace(document.body, shell(session));
  document.addEventListener("click", (event) => {
    const a = (event.target as Element).closest("a");
    const href = a?.getAttribute("href") ?? "";
    if (!a || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || !href.startsWith("/") || href.startsWith("/assets/") || href.startsWith("/api/")) return;
    event.preventDefault();
    globalThis.history.pushState(null, "", href);
    show(session, false);
  });
  addEventListener("popstate", () => show(session, false));
  show(session, true);
}

takeKey();
void start();
