// The plain page: the tables, and the changes as they come. Everything it shows is text, never markup.

const shown_max = 200;
const by_id = (id) => document.getElementById(id);

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.assign(made, attributes);
  made.append(...children);
  return made;
}

function show_state(state, text) {
  by_id("state").dataset.state = state;
  by_id("state").textContent = text;
}

async function show_tables() {
  const answer = await fetch("/tables");
  if (!answer.ok) return;
  const { tables } = await answer.json();
  by_id("no-tables").hidden = tables.length > 0;
  by_id("tables").replaceChildren(
    ...tables.map((t) =>
      element("li", {},
        element("a", { href: "/rows/" + encodeURIComponent(t.table), textContent: t.table }),
        element("small", { textContent: "key " + t.key.join(", ") + " · " + t.columns.length + " columns" }),
        ...(t.problem ? [element("small", { className: "op delete", textContent: t.problem })] : []))));
}

function show_change({ table, op, stamp, key, row }) {
  const list = by_id("changes");
  by_id("no-changes").hidden = true;
  list.prepend(
    element("li", {},
      element("span", { className: "op " + op, textContent: op }),
      element("span", {},
        element("small", { textContent: table + (stamp ? " · stamp " + stamp : "") }),
        element("code", { textContent: JSON.stringify(row ?? key ?? {}) }))));
  while (list.children.length > shown_max) list.lastElementChild.remove();
}

function follow() {
  const feed = new EventSource("/events");
  feed.onopen = () => { show_state("live", "live"); show_tables(); };
  feed.onerror = () => show_state("lost", feed.readyState === EventSource.CLOSED ? "refused" : "reconnecting");
  feed.addEventListener("cursor", (event) => { by_id("head").textContent = JSON.parse(event.data).head; });
  feed.addEventListener("bye", (event) => {
    const revoked = JSON.parse(event.data).reason === "token_revoked";
    if (revoked) feed.close();
    show_state("lost", revoked ? "refused: the token was taken away" : "the server ends; reconnecting");
  });
  feed.onmessage = (event) => {
    const told = JSON.parse(event.data);
    by_id("head").textContent = told.head;
    if (told.reset) {
      show_change({ table: told.reset.tables.join(", "), op: "reset", key: { reason: told.reset.reason } });
      show_tables();
    }
    told.changes.forEach(show_change);
  };
}

follow();
