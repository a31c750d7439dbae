# That the suite notices what is wrong, keeps going where something dies, and what it costs.

# With --all the whole catalogues on three seeds, otherwise some of each.
proof() {
  local how_much=(--mutants 80 --permitted 2 --pairs 1)
  [ "$everything" = no ] || how_much=(--seed 0 --seed 1 --seed 2)
  .venv/bin/dmlcts selftest "${how_much[@]}" > "$work/proof.txt" 2> "$work/progress.txt" \
    || { cat "$work/proof.txt"; tail -n 40 "$work/progress.txt"; return 1; }
  tail -n 9 "$work/proof.txt"
}

killed_workers() { .venv/bin/python -m dmlcts.suites.selftest.isolation.killing --runs 10; }

strangers() { .venv/bin/python -m dmlcts.suites.selftest.strangers.fuzzing --count 3000; }

sweep() {
  quietly sweep.txt .venv/bin/dmlcts sweep --backend cpu --operator ROUND --data-type FLOAT16 --results "$work/sweep"
  tail -n 4 "$work/sweep.txt"
}

# With --all only. Printed and not judged: other work on the machine decides.
judging_costs() {
  if [ "$everything" = yes ]; then
    .venv/bin/dmlcts bench --no-run --share 8 --rounds 2 --against reports/examples/bench.json > "$work/bench.txt" 2>&1 || true
    tail -n 2 "$work/bench.txt"
  fi
}
