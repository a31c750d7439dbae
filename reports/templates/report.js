"use strict";
// Filtering, deep links and copying. The page reads without any of it: what works only with a script is hidden
// until the script is here.
(() => {
  const names = ["q", "operator", "type", "outcome", "subject"];
  const form = document.getElementById("filter");
  const field = (name) => document.getElementById("f-" + name);
  const said = document.getElementById("f-said");
  const items = [...document.querySelectorAll("[data-item]")];
  const texts = new Map();

  const words = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };
  const holds = (element, state) =>
    (!state.operator || (element.dataset.operator || "").split(" ").includes(state.operator)) &&
    (!state.type || (element.dataset.type || "").split(" ").includes(state.type)) &&
    (!state.outcome || element.dataset.outcome === state.outcome);

  const read = () => Object.fromEntries(names.map((name) => [name, field(name).value.trim()]));
  const write = (state) => names.forEach((name) => { field(name).value = state[name] || ""; });

  function apply() {
    const state = read();
    const wanted = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const counts = {};
    for (const item of items) {
      let shown = !state.subject || item.dataset.subject === state.subject;
      if (item.dataset.item === "clause") {
        let any = false;
        for (const row of item.querySelectorAll("[data-row]")) {
          row.hidden = !holds(row, state);
          any = any || !row.hidden;
        }
        shown = shown && any;
      } else if (item.dataset.item === "operator") { // it has cells of every outcome and subject
        shown = holds(item, { operator: state.operator, type: state.type });
      } else {
        shown = shown && holds(item, state);
      }
      if (shown && wanted.length) shown = wanted.every((word) => words(item).includes(word));
      item.hidden = !shown;
      if (shown && item.dataset.item === "operator" && (state.operator || wanted.length)) item.open = true;
      const count = (counts[item.dataset.item] = counts[item.dataset.item] || [0, 0]);
      count[0] += shown ? 1 : 0;
      count[1] += 1;
    }
    const narrowed = names.some((name) => state[name]);
    for (const rest of document.querySelectorAll("details.rest")) {
      rest.hidden = !rest.querySelector("details.failure:not([hidden])");
      if (narrowed && !rest.hidden) rest.open = true; // what was looked for must not lie folded
    }
    for (const note of document.querySelectorAll("[data-nothing]")) {
      const count = counts[note.dataset.nothing];
      note.hidden = !count || count[0] > 0;
    }
    const part = (name, count) => (count ? [`${count[0]} of ${count[1]} ${name}${count[1] === 1 ? "" : "s"}`] : []);
    said.value = [
      ...part("failure", counts.failure), ...part("clause", counts.clause), ...part("operator", counts.operator),
    ].join(", ");
    return state;
  }

  function remember(state) {
    const kept = new URLSearchParams(names.filter((name) => state[name]).map((name) => [name, state[name]]));
    const hash = kept.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  function reveal(target) {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: "start" });
  }

  function follow() {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch { /* a broken escape names nothing */ }
    const target = hash && document.getElementById(hash);
    if (target) {
      if (target.hidden) { write({}); apply(); }
      reveal(target);
      const summary = target.tagName === "DETAILS" && target.querySelector("summary");
      if (summary) summary.focus({ preventScroll: true });
    } else if (!hash || hash.includes("=")) {
      const stored = new URLSearchParams(location.hash.slice(1));
      write(Object.fromEntries(names.map((name) => [name, stored.get(name) || ""])));
      apply();
    }
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => remember(apply()));
  field("clear").addEventListener("click", () => { write({}); remember(apply()); field("q").focus(); });

  document.addEventListener("click", (event) => {
    const setter = event.target.closest("a[data-set-operator], a[data-set-outcome]");
    if (setter && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      const set = setter.dataset;
      write({ operator: set.setOperator, type: set.setType, subject: set.setSubject, outcome: set.setOutcome });
      remember(apply());
      form.scrollIntoView({ block: "start" });
      field("q").focus({ preventScroll: true });
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); field("q").focus(); }
    if (event.key === "Escape" && form.contains(document.activeElement)) { write({}); remember(apply()); }
  });

  async function copy(text, around) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const range = document.createRange(); // older browsers, and pages opened from a file
      range.selectNodeContents(around);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      return document.execCommand("copy");
    }
  }
  for (const button of document.querySelectorAll("button.copy")) {
    const source = button.parentElement.querySelector("pre");
    button.hidden = false;
    button.addEventListener("click", async () => {
      button.textContent = (await copy(source.textContent, source)) ? "Copied" : "Select and copy";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(
      "details.failure:not([open]), details.rest:not([open]), details.operator:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });
  addEventListener("hashchange", follow);
  apply();
  follow();
})();
