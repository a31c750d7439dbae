# Steps one after another, the first fault ends them; what runs beside them; how long each took.

# begin: a folder for the files of all steps, in $work; when the shell exits, says how long each step took.
begin() {
  work=$(mktemp -d)
  began=$SECONDS
  trap finish EXIT
  export XDG_RUNTIME_DIR="$work/runtime"  # Vulkan loaders complain without one
  mkdir -m 700 "$XDG_RUNTIME_DIR"
}

# took NAME SINCE: a row for the table.
took() { printf '%6d s  %s\n' $((SECONDS - $2)) "$1" >> "$work/took.txt"; }

# step NAME COMMAND...: a heading, and the command in this shell.
step() {
  now=$1 since=$SECONDS
  printf '\n== %s (%d s)\n' "$now" $((since - began))
  shift
  "$@"
  took "$now" "$since"
  now=
}

# beside NAME COMMAND...: runs in the background; `joined NAME` waits for it, shows what it printed, and fails where it did.
declare -A background
beside() {
  local name=$1 since=$SECONDS
  shift
  (
    "$@"
    took "  beside other steps: $name" "$since"
  ) > "$work/beside-$name.txt" 2>&1 &
  background[$name]=$!
}
joined() {
  local code=0
  wait "${background[$1]}" || code=$?
  cat "$work/beside-$1.txt"
  return "$code"
}

# quietly FILE COMMAND...: the output goes to a file of $work, and is shown where the command fails.
quietly() {
  local file=$work/$1
  shift
  "$@" > "$file" 2>&1 || { cat "$file"; return 1; }
}

finish() {
  local code=$? job
  for job in $(jobs -p); do kill "$job" 2> /dev/null || true; done
  [ "$code" = 0 ] || took "${now:-between steps}: exit code $code" "${since:-$began}"
  printf '\n== how long each step took (%d s in all)\n' $((SECONDS - began))
  cat "$work/took.txt" || true
  rm -rf "$work"
}
