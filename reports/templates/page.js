"use strict";
// Every page of this project: filters that stand in the address, deep links, keys, copying, and parts that are built
// when they are opened. A page reads without any of it: what works only with a script is hidden until it is here.
(() => {
  const form = document.getElementById("filter");
  const fields = form ? [...form.querySelectorAll("input, select")] : [];
  const count = document.getElementById("f-count");
  const read = () => Object.fromEntries(fields.map((field) => [field.name, field.value.trim()]));
  const write = (state) => fields.forEach((field) => { field.value = state[field.name] || ""; });
  const wordsOf = (state) => (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  const lists = (list, value) => !value || list === "*" || (list || "").split(" ").includes(value);

  // Parts that a closed <details> holds as <noscript> are text until they are needed.

  const fragments = new Map();
  function fragmentOf(later) {
    if (!fragments.has(later)) {
      const template = document.createElement("template");
      template.innerHTML = later.textContent; // escaped by whoever wrote the page; the policy forbids scripts in it
      for (const button of template.content.querySelectorAll("button.copy")) button.hidden = false;
      fragments.set(later, template.content);
    }
    return fragments.get(later);
  }
  const within = (details, selector) =>
    [...details.querySelectorAll(selector)].filter((found) => found.closest("details") === details);
  function build(details) {
    for (const later of within(details, "noscript")) {
      later.replaceWith(fragmentOf(later));
      fragments.delete(later);
    }
    if ("rows" in details.dataset) narrow(details.querySelectorAll("[data-row]"), read());
  }
  const waitingRows = (details) =>
    within(details, "noscript").flatMap((later) => [...fragmentOf(later).querySelectorAll("[data-row]")]);
  document.addEventListener("toggle", (event) => { if (event.target.open) build(event.target); }, true);

  // Filters of lists: each item says what it is about.

  const items = [...document.querySelectorAll("[data-item]")];
  const texts = new Map();
  const characters = { "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&amp;": "&" };
  function textOf(element) {
    if (!texts.has(element)) {
      let text = "";
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const data = walker.currentNode.data;
        const later = walker.currentNode.parentElement.tagName === "NOSCRIPT";
        text += later ? data.replace(/<[^>]*>/g, " ").replace(/&(lt|gt|#34|#39|amp);/g, (sign) => characters[sign]) : data;
      }
      texts.set(element, text.toLowerCase());
    }
    return texts.get(element);
  }
  const holds = ({ dataset }, state) => lists(dataset.operator, state.operator) && lists(dataset.type, state.type) &&
    lists(dataset.outcome, state.outcome) && lists(dataset.subject, state.subject);
  function narrow(rows, { operator, type, outcome }) {
    for (const row of rows) row.hidden = !holds(row, { operator, type, outcome });
  }

  function applyToItems(state) {
    const words = wordsOf(state);
    const counts = {};
    const several = [state.operator, state.type, state.outcome].filter(Boolean).length > 1;
    for (const item of items) {
      const kind = item.dataset.item;
      let shown = holds(item, state);
      if (shown && "rows" in item.dataset) {
        const rows = [...item.querySelectorAll("[data-row]"), ...(several ? waitingRows(item) : [])];
        narrow(rows, state);
        shown = !several || rows.some((row) => !row.hidden); // what is asked for may hold of different rows
      }
      if (shown && words.length) shown = words.every((word) => textOf(item).includes(word));
      item.hidden = !shown;
      if (shown && kind === "operator" && (state.operator || words.length)) { item.open = true; build(item); }
      counts[kind] = counts[kind] || [0, 0];
      counts[kind][0] += shown ? 1 : 0;
      counts[kind][1] += 1;
    }
    const narrowed = Object.values(state).some(Boolean);
    for (const rest of document.querySelectorAll("details.rest")) {
      rest.hidden = !rest.querySelector("[data-item]:not([hidden])");
      if (narrowed && !rest.hidden) rest.open = true; // what was looked for must not lie folded
    }
    for (const note of document.querySelectorAll("[data-nothing]")) {
      const [shown] = counts[note.dataset.nothing] || [1];
      note.hidden = shown > 0;
    }
    count.value = (form.dataset.counts || "").split(" ").filter((kind) => counts[kind])
      .map((kind) => `${counts[kind][0]} of ${counts[kind][1]} ${kind}${counts[kind][1] === 1 ? "" : "s"}`).join(", ");
  }

  // Filters of a table whose columns are implementations.

  const grid = document.querySelector(".grid table");
  const heads = grid ? [...grid.querySelectorAll("thead th[id]")] : [];
  const lines = grid ? [...grid.querySelectorAll("tr")].map((row) => ({
    row, name: row.closest("tbody") && row.cells[0].textContent, cells: [...row.querySelectorAll("td, th[id]")],
  })) : [];
  const proofs = [...document.querySelectorAll(".proof")];
  for (const head of heads) {
    const [label, adapter] = [...head.children].map((part) => part.textContent);
    document.getElementById("f-column").append(new Option(`${label}, ${adapter}`, head.id));
  }
  function asked(kinds, show) {
    const judged = kinds.filter(Boolean);
    if (show === "fail") return judged.includes("f");
    if (show === "hold") return judged.length > 0 && !judged.includes("f");
    if (show === "differ") return new Set(judged.map((kind) => kind === "f")).size > 1;
    return true;
  }

  function applyToGrid(state) {
    const words = wordsOf(state);
    const column = heads.findIndex((head) => head.id === state.column);
    const shown = new Set();
    let total = 0;
    for (const { row, name, cells } of lines) {
      cells.forEach((cell, place) => { cell.hidden = column >= 0 && place !== column; });
      if (name === null) continue;
      total += 1;
      const kinds = cells.filter((cell) => !cell.hidden).map((cell) => cell.className || cell.textContent);
      row.hidden = !(asked(kinds, state.show) && words.every((word) => name.toLowerCase().includes(word)));
      if (!row.hidden) shown.add(name);
    }
    for (const proof of proofs) proof.hidden = !shown.has(proof.id);
    document.getElementById("nothing").hidden = shown.size > 0;
    count.value = `${shown.size} of ${total}`;
  }

  // The address holds what is asked for; a link may ask for it, or lead to a part of the page.

  function apply() {
    const state = read();
    if (form) (grid ? applyToGrid : applyToItems)(state);
    return state;
  }

  function remember(state) {
    const kept = new URLSearchParams(Object.entries(state).filter(([, value]) => value));
    const hash = kept.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  function clear() {
    write({});
    remember(apply());
  }

  function reveal(target) {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") { at.open = true; build(at); }
    target.scrollIntoView({ block: "start" });
    const summary = target.tagName === "DETAILS" && target.querySelector("summary");
    if (summary) summary.focus({ preventScroll: true });
  }

  function follow() {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch { /* a broken escape names nothing */ }
    const target = hash && document.getElementById(hash);
    if (target) {
      if (form && target.closest("[hidden]")) { write({}); apply(); }
      reveal(target);
    } else if (!hash || hash.includes("=")) {
      write(Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
      apply();
    }
  }

  // A filter link leads to the first thing that it leaves: a failure, else a row, else a clause.
  function showAsked() {
    const wanted = (form.dataset.counts || "").split(" ")
      .map((kind) => items.find((item) => item.dataset.item === kind && !item.hidden));
    const first = wanted.find(Boolean);
    if (!first) { form.scrollIntoView({ block: "start" }); return; }
    if (first.tagName === "DETAILS") reveal(first); else first.scrollIntoView({ block: "start" });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (button) { copy(button); return; }
    const link = event.target.closest("a[data-set-subject], a[data-set-operator], a[data-set-outcome]");
    if (!form || !link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    const { setOperator, setType, setSubject, setOutcome } = link.dataset;
    const around = link.closest("[data-item=operator]"); // a cell of an operator's own matrix
    write({ operator: setOperator || (around && around.dataset.operator), type: setType, subject: setSubject, outcome: setOutcome });
    remember(apply());
    showAsked();
  });

  if (form) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => remember(apply()));
    document.getElementById("f-clear").addEventListener("click", () => { clear(); fields[0].focus(); });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (event.key === "/" && !typing) { event.preventDefault(); fields[0].focus(); }
      if (event.key === "Escape" && form.contains(document.activeElement)) clear();
    });
  }

  // Copying, where browsers permit it and where a page is opened from a file.

  async function copied(source) {
    try {
      await navigator.clipboard.writeText(source.textContent);
      return true;
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      return document.execCommand("copy");
    }
  }
  async function copy(button) {
    const words = button.textContent;
    const text = button.closest(".copyable").querySelector("pre");
    const done = await copied((button.dataset.part && text.querySelector(button.dataset.part)) || text);
    button.textContent = done ? "Copied" : "Select and copy";
    setTimeout(() => { button.textContent = words; }, 2000);
  }
  for (const place of document.querySelectorAll(".copyable:not(:has(button))")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy", ariaLabel: "Copy the command" });
    place.append(button);
  }
  for (const button of document.querySelectorAll("button.copy")) button.hidden = false;

  // Paper has room for every failure.

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(
      "details.failure:not([open]), details.rest:not([open]), details.operator:not([open])")];
    for (const details of opened) { details.open = true; build(details); }
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });

  addEventListener("hashchange", follow);
  apply();
  follow();
})();
