# The source archive, the wheel made of it, and what an accredited maker does with that: runs, certifies; the checkout verifies.

wheel() {
  quietly build.log .venv/bin/python -m build --outdir "$work/dist" .
  .venv/bin/python .ci/packaged.py "$work/dist"
}

wheel_elsewhere() {
  first_command_of_wheel > "$work/first.sh"
  mkdir "$work/empty"
  (
    cd "$work/empty"
    wheel_runs  # not in a condition, where bash would go on after a fault
    wheel_certifies
  )
  .venv/bin/python .ci/conformant.py "$work/empty/results/results.json" --every-row
  verified
}

# The README's first command, of the wheel instead of the checkout, on some operators and types. `-n auto` needs pytest-xdist.
first_command_of_wheel() {
  local wheel
  wheel=$(echo "$work"/dist/*.whl)
  command_of 1 | sed "s|-e '.\[dev\]'|'$wheel[certify]' pytest-xdist|; \$s/\$/ --operator CLIP,ROUND,THRESHOLD --data-type FLOAT32,INT8/" \
    | grep -F "$wheel"
}

wheel_runs() {
  bash -euo pipefail "$work/first.sh"
  .venv/bin/dmlcts backends
  .venv/bin/pytest -q -p dmlcts.suites.plugin --pyargs dmlcts.suites --backend cpu --operator IS_NAN --data-type FLOAT16 \
    --results pytest
}

wheel_certifies() {
  .venv/bin/dmlcts keygen acme
  quietly certified.txt .venv/bin/dmlcts certify --backend cpu --operator LOGICAL_NOT --product cpu --vendor ACME \
    --key acme.key --output submission.zip --results certification
}

# By the checkout; and not once a byte of it is another.
verified() {
  local verify=(.venv/bin/dmlcts verify "$work/empty/submission.zip" --trust "$work/empty/acme.pub") code=0
  quietly verified.txt "${verify[@]}"
  printf x | dd of="$work/empty/submission.zip" bs=1 seek=100000 conv=notrunc status=none
  "${verify[@]}" > "$work/tampered.txt" || code=$?
  [ "$code" = 1 ] || { cat "$work/tampered.txt"; return 1; }
  tail -n 1 "$work/verified.txt" "$work/tampered.txt"
}
