# The README's first two shell blocks are its set-up and its commands; they run as they stand there.

command_of() { awk -v wanted="$1" '/^```sh$/ {block++; inside=1; next} /^```$/ {inside=0} inside && block==wanted' README.md; }

readme_tests() {
  rm -rf .venv
  command_of 2 > "$work/tests.sh"
  PYTHONPATH="$PWD/.ci" PYTEST_ADDOPTS="-p passed_before --list-passed $work/passed.txt" bash -euo pipefail "$work/tests.sh"
}

# It judged cpu on some types of all operators, and ends well where nothing failed; here, nothing may be left undone either.
readme_verdict() { .venv/bin/python .ci/conformant.py results/results.json --every-operator; }

readme_main() {
  command_of 1 > "$work/main.sh"
  [ "$everything" = yes ] || sed -i '$s/$/ --data-type FLOAT16/' "$work/main.sh"  # which the tests leave out
  bash -euo pipefail "$work/main.sh"
}
