# The other backends, each with the departures that are known of it.

swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json

# judge NAME EXIT_CODE ARGUMENTS...: a run whose exit code is known; the output is shown where it is another.
judge() {
  local name=$1 wanted=$2 code=0
  shift 2
  .venv/bin/dmlcts run --results "$work/judged/$name" "$@" > "$work/$name.txt" 2>&1 || code=$?
  if [ "$code" != "$wanted" ]; then
    cat "$work/$name.txt"
    echo "$name: exit code $code, not $wanted"
    return 1
  fi
  echo "$name: $(tail -n 1 "$work/$name.txt")"
}

# depart_alike ONE OTHER [OPERATORS]: two results, baselines or pages of findings.
depart_alike() { .venv/bin/python .ci/departing.py "$@"; }

vulkan_drivers() {
  beside lavapipe judge lavapipe 0 --backend wgpu -o adapter=llvmpipe --operator ROUND,IF --data-type FLOAT32,FLOAT16
  VK_DRIVER_FILES=$swiftshader VK_ICD_FILENAMES=$swiftshader \
    judge swiftshader 0 -n 2 --backend wgpu -o adapter=SwiftShader --operator MAX,IS_NAN,BIT_SHIFT_RIGHT
  joined lavapipe
}

directml() {
  local compared=('CLIP,ROUND,THRESHOLD,ATAN,IS_NAN,QUANTIZE_LINEAR')  # the last, of mixed types, does not depart
  local selection=(--operator "${compared[@]}")
  [ "$everything" = no ] || compared=() selection=()
  beside flushed judge directml-flush 1 --backend directml -o denormals=flush -o nan=canonical -o mad=separate \
    -o zeros=operands --operator ROUND
  judge directml 1 -n 2 --backend directml "${selection[@]}"
  [ "$everything" = no ] || directml_baseline
  joined flushed
  depart_alike "$work/judged/directml/results.json" backends/baselines/directml.yaml "${compared[@]}"
  depart_alike "$work"/judged/directml{,-flush}/results.json ROUND
  directml_findings "${compared[@]}"
}

directml_baseline() {
  .venv/bin/dmlcts baseline check "$work/judged/directml" backends/baselines/directml.yaml \
    || echo "another clause is named for one of the faults; which operators and types depart is compared next"
}

# Which case, and which clause, a fault is shown by depends on how two processes share the tests; what departs does not.
directml_findings() {
  .venv/bin/dmlcts findings "$work/judged/directml" --baseline backends/baselines/directml.yaml > "$work/FINDINGS.md"
  depart_alike backends/directml/FINDINGS.md "$work/FINDINGS.md" "$@" \
    || { echo "backends/directml/FINDINGS.md is out of date"; return 1; }
}

directml_windows() {
  local some=ROUND,THRESHOLD,IF
  judge directml-windows 1 -n 2 --backend directml -o library=windows --operator "$some"
  depart_alike backends/baselines/directml-windows.yaml "$work/judged/directml-windows/results.json" "$some"
  # What differs from Linux' library is printed and not judged.
  depart_alike backends/baselines/directml.yaml "$work/judged/directml-windows/results.json" "$some" \
    || echo "< of Linux' library alone, > of Windows' alone"
  .venv/bin/dmlcts diff "$work/judged/directml" "$work/judged/directml-windows" | tail -n 1 || true
}

runtimes() {
  local selection=(--operator 'CLIP,ROUND,THRESHOLD') runtime
  [ "$everything" = yes ] || selection+=(--data-type 'FLOAT16,INT64')
  beside onnxruntime judge onnxruntime 1 --backend onnxruntime "${selection[@]}"
  judge torch 1 --backend torch "${selection[@]}"
  joined onnxruntime
  for runtime in onnxruntime torch; do
    quietly lost.txt .venv/bin/dmlcts diff "reports/examples/$runtime.results.json" "$work/judged/$runtime"
    tail -n 1 "$work/lost.txt"
  done
}

side_by_side() {
  local from=() name
  for name in onnxruntime torch directml lavapipe; do from+=(--from "$work/judged/$name"); done
  quietly compare.txt .venv/bin/dmlcts compare "${from[@]}" --markdown "$work/compare.md" --html "$work/compare.html"
}
