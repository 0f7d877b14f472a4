#!/bin/bash
# Runs the programs of examples/languages, each with a right and a wrong code. pkg-config and LD_LIBRARY_PATH
# have to find the library. A program whose language is not installed is skipped.
set -euo pipefail
cd "$(dirname "$0")/../examples/languages"
modules=$PWD/../../build/languages
jna=/usr/share/java/jna.jar
expected="0000000: Welcome, Ada.
1111111: Access denied: the token is wrong"

has() {
    command -v "$1" >/dev/null
}
php_has_ffi() {
    has php && php -r 'FFI::cdef("");' >/dev/null 2>&1
}

runs() { # a program, and the command that runs it
    local program=$1 printed
    shift
    if ! printed=$("$@" 2>&1) || [ "$printed" != "$expected" ]; then
        printf 'tests/languages.sh: %s printed:\n%s\n' "$program" "$printed" >&2
        exit 1
    fi
    echo "examples/languages/$program works"
}
skipped() { # a program, and what it requires
    echo "examples/languages/$1 was not run: it requires $2"
}

if has go; then
    runs login.go go run login.go
else
    skipped login.go Go
fi
if has node && [ -d "$modules/node_modules/koffi" ]; then
    # Node looks for packages next to the program.
    cp login.mjs "$modules"
    runs login.mjs node "$modules/login.mjs"
else
    skipped login.mjs "Node and koffi"
fi
if has javac && [ -e "$jna" ]; then
    runs Login.java java -cp "$jna" Login.java
else
    skipped Login.java "a JDK and JNA"
fi
if php_has_ffi; then
    runs login.php php login.php
else
    skipped login.php "PHP and its extension FFI"
fi
if has ruby && ruby -r fiddle -e "" 2>/dev/null; then
    runs login.rb ruby -w login.rb
else
    skipped login.rb "Ruby and fiddle"
fi
