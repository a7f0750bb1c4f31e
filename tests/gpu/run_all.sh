#!/bin/sh
# Everything here on a machine with an NVIDIA GPU, Linux, and a python3 that has torch:
#     tests/gpu/run_all.sh [FOLDER FOR RESULTS]
# Kernels come from .gpu-build (kernels.tar.xz, if they were compiled elsewhere) or are compiled with nvcc.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build="$root/.gpu-build"
out=${1:-$build/results}
mkdir -p "$build" "$out"
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
python=${PYTHON:-python3}

# The checkout is the package: a link gives it its name.
named=$(mktemp -d)
trap 'rm -rf "$named"' EXIT
ln -s "$root" "$named/archcov"
export PYTHONPATH="$named:$build/site${PYTHONPATH:+:$PYTHONPATH}"

if [ ! -e "$build/kernels/kernels.json" ]; then
    if [ -e "$build/kernels.tar.xz" ]; then
        tar -xJf "$build/kernels.tar.xz" -C "$build"
    else
        "$python" "$here/build_kernels.py" --to "$build/kernels" || exit 1
    fi
fi

status=0
run() {
    name=$1
    shift
    start=$(date +%s)
    timeout 240 "$python" "$here/$name.py" --out "$out/$name.json" "$@" || status=1
    echo "$name took $(($(date +%s) - start)) s"
}
run fit_matrix --kernels "$build/kernels"
run diagnose_real --kernels "$build/kernels"
run overhead
run simulated_gaps
exit $status
