#!/usr/bin/env bash
# Gradescope runs this once, as root, when it makes the image: interpreters for the grader and for students' code.
# AUTOGRADER, PREFIX, PYTHON and UV are there for trying it elsewhere.
set -eu
autograder=${AUTOGRADER:-/autograder}
prefix=${PREFIX:-/opt/coursework}
source=$autograder/source
export UV_PYTHON_INSTALL_DIR=$prefix/python UV_LINK_MODE=copy

if [ -z "${UV:-}" ]; then
  command -v python3 >/dev/null && python3 -c 'import ensurepip' 2>/dev/null || {
    apt-get -qq update
    apt-get -qq install --no-install-recommends --yes python3 python3-venv >/dev/null
  }
  python3 -m venv "$prefix/uv"
  "$prefix/uv/bin/pip" install --quiet --disable-pip-version-check "$(cat "$source/requirements/uv.txt")"
  UV=$prefix/uv/bin/uv
fi

for environment in grader student; do
  "$UV" venv --quiet --clear --python "${PYTHON:-3.11}" "$prefix/$environment"
  "$UV" pip sync --quiet --compile-bytecode --python "$prefix/$environment/bin/python" "$source/requirements/$environment.txt"
done

# Students' code runs as a user of its own, which can read its interpreter and what notebooks import, and nothing below
# $source: there are the questions, the solution and the seed.
rm -rf "$prefix/src"
cp -r "$source/src" "$prefix/src"
cp -r "$source/src/asynclab" "$("$prefix/student/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
chmod -R go+rX,go-w "$prefix"
chmod -R go= "$source"
