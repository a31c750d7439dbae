"use strict";
// Filters and copying. The pages read without any of it: what works only with a script is hidden until it is here.
(() => {
  for (const button of document.querySelectorAll("button.copy")) {
    const source = button.parentElement.querySelector("pre");
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  const form = document.getElementById("filter");
  if (!form) return;
  const names = ["q", "show", "column"];
  const field = (name) => document.getElementById("f-" + name);
  const table = document.querySelector(".grid table");
  const heads = [...table.querySelectorAll("thead th[data-column]")];
  const rows = [...table.querySelectorAll("tr")].map((row) => ({
    row, name: row.dataset.name, cells: [...row.querySelectorAll("td, th[data-column]")],
  }));
  const proofs = [...document.querySelectorAll("[data-evidence]")];

  const read = () => Object.fromEntries(names.map((name) => [name, field(name).value.trim()]));
  const write = (state) => names.forEach((name) => { field(name).value = state[name] || ""; });
  const asked = (kinds, show) => {
    const judged = kinds.filter((kind) => kind !== "k-absent");
    if (show === "fail") return judged.includes("k-fail");
    if (show === "hold") return judged.length > 0 && !judged.includes("k-fail");
    if (show === "differ") return new Set(judged.map((kind) => kind === "k-fail")).size > 1;
    return true;
  };

  function apply() {
    const state = read();
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const column = heads.findIndex((head) => head.dataset.column === state.column);
    const shown = new Set();
    let total = 0;
    for (const { row, name, cells } of rows) {
      cells.forEach((cell, place) => { cell.hidden = column >= 0 && place !== column; });
      if (name === undefined) continue;
      total += 1;
      const kinds = cells.filter((cell) => !cell.hidden).map((cell) => cell.className);
      row.hidden = !(asked(kinds, state.show) && words.every((word) => name.toLowerCase().includes(word)));
      if (!row.hidden) shown.add(name);
    }
    for (const proof of proofs) proof.hidden = !shown.has(proof.dataset.evidence);
    document.getElementById("nothing").hidden = shown.size > 0;
    field("count").value = `${shown.size} of ${total}`;
    return state;
  }

  function remember(state) {
    const kept = new URLSearchParams(names.filter((name) => state[name]).map((name) => [name, state[name]]));
    history.replaceState(null, "", kept.size ? "#" + kept : location.pathname + location.search);
  }

  function follow() {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch { /* a broken escape names nothing */ }
    const target = hash && document.getElementById(hash);
    if (target) {
      if (target.closest("[hidden]")) { write({}); apply(); target.scrollIntoView(); }
    } else if (hash.includes("=")) {
      const stored = new URLSearchParams(location.hash.slice(1));
      write(Object.fromEntries(names.map((name) => [name, stored.get(name) || ""])));
      apply();
    }
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => remember(apply()));
  field("clear").addEventListener("click", () => { write({}); remember(apply()); field("q").focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); field("q").focus(); }
    if (event.key === "Escape" && form.contains(document.activeElement)) { write({}); remember(apply()); }
  });
  addEventListener("hashchange", follow);
  apply();
  follow();
})();
