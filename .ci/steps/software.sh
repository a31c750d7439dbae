# What must be installed, and Microsoft's libraries.

system_software() {
  local wanted=(mesa-vulkan-drivers libvulkan1 chromium chromium-driver gcc g++ clang g++-mingw-w64-x86-64-posix nodejs)
  if command -v apt-get > /dev/null && ! dpkg -s "${wanted[@]}" > /dev/null 2>&1; then
    as_root apt-get update -qq
    quietly apt.log as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}"
  fi
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

every_backend='.[dev,directml,wgpu,onnxruntime,torch,fast,cluster,certify]'

# Fetched while processors are busy with other steps: the packages, not installed yet, and the libraries.
download() {
  .venv/bin/pip download --quiet --dest "$work/packages" "$every_backend" -c .ci/versions.txt
  .venv/bin/dmlcts directml fetch
  .venv/bin/dmlcts directml fetch --windows --accept-terms
  .venv/bin/dmlcts directml fetch --windows 1.13.1 --accept-terms  # another release, to live beside it in one process
}

other_backends() {
  joined download
  .venv/bin/pip install --quiet --no-compile --find-links "$work/packages" -e "$every_backend" -c .ci/versions.txt
  .venv/bin/dmlcts backends
}
