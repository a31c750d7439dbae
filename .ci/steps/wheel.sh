# The wheel, and what an accredited maker does with it: runs, certifies; the checkout verifies.

wheel() { quietly build.log .venv/bin/python -m build --wheel --outdir "$work/dist" .; }

wheel_elsewhere() {
  python3 -m venv "$work/other"
  "$work/other/bin/pip" install --quiet "$(echo "$work"/dist/*.whl)[certify]"
  mkdir "$work/empty"
  (
    cd "$work/empty"
    wheel_runs  # not in a condition, where bash would go on after a fault
    wheel_certifies
  )
  .venv/bin/python .ci/conformant.py "$work/empty/results/results.json" --every-row
  verified
}

wheel_runs() {
  "$work/other/bin/dmlcts" backends
  "$work/other/bin/pytest" -q -p dmlcts.suites.plugin --pyargs dmlcts.suites --backend cpu --operator CLIP,ROUND,THRESHOLD
}

wheel_certifies() {
  "$work/other/bin/dmlcts" keygen acme
  quietly certified.txt "$work/other/bin/dmlcts" certify --backend cpu --operators LOGICAL_NOT --product cpu --vendor ACME \
    --key acme.key -o submission.zip
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
