# The suite's own tests; each once, but for those that something else decides the second time.

tested() {
  local size=(--selftests "$selftests")
  [ "$everything" = no ] || size+=(--profile full)  # more examples of what is drawn
  # One process more than there are processors: many of these tests wait for time limits and for other programs.
  PYTHONPATH="$PWD/.ci" .venv/bin/pytest -q -n $(($(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal "${size[@]}" -p passed_before "$@"
}

# With --all everything runs anew, on more examples; otherwise what did not run, or did not pass, in the README's command.
other_selftests() {
  local left_out=()
  [ "$everything" = yes ] || left_out=(--but-passed "$work/passed.txt")
  tested "${left_out[@]}" --list-passed "$work/passed_later.txt" suites/selftest
  cat "$work/passed_later.txt" >> "$work/passed.txt"
}

# Once the other backends are installed, numba judges blocks, and sweeps are distributed.
backends_selftests() {
  local otherwise='sweeping/test_(sweeping|sweep_judge|schedulers)|departures/test_comparing|oracles/test_block_judging'
  grep -vE "^'suites/selftest/($otherwise)" "$work/passed.txt" > "$work/passed_alike.txt"
  tested --but-passed "$work/passed_alike.txt" \
    suites/selftest/{directml,windows,dxil,bytecode,wgpu,backends,sweeping} \
    suites/selftest/{departures/test_comparing,oracles/test_block_judging}.py
}
