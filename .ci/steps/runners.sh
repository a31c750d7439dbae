# An implementation in a program of its own: the C kit's plain runner.

some_exact=CLIP,ROUND,THRESHOLD

plain_runner() {
  local kit=backends/runners/c
  cc -std=c11 -O2 -Wall -Wextra -Werror -pedantic -o "$work/plain_runner" "$kit/plain_runner.c" "$kit/dmlcts_runner.c" -lm
}

runners() {
  local listening way
  plain_runner
  "$work/plain_runner" --listen 47801 2> "$work/listening.txt" &
  listening=$!
  .venv/bin/dmlcts backends --check "exec:$work/plain_runner" --operator "$some_exact"
  for way in "exec:$work/plain_runner" tcp:127.0.0.1:47801; do  # each of all types is two minutes
    .venv/bin/dmlcts run -q --backend "$way" --operator "$some_exact" --data-type FLOAT32,INT8 \
      --results "$work/runner-${way%%:*}"
  done
  kill "$listening"
}

offline() {
  local code=0
  .venv/bin/dmlcts offline export --feature-level 5.0 --operator "$some_exact" --output "$work/cases"
  mkdir "$work/outputs"
  "$work/plain_runner" --offline "$work/cases" "$work/outputs"
  .venv/bin/dmlcts offline judge "$work/cases" "$work/outputs" --results "$work/offline" > "$work/offline.txt" || code=$?
  tail -n 2 "$work/offline.txt"
  [ "$code" = 4 ]  # nothing failed, and what must be adaptive did not run
}

# Printed and not judged: other work on the machine decides.
runner_overhead() { .venv/bin/python -m dmlcts.suites.benchmarks.runner_overhead | tail -n 1 || true; }
