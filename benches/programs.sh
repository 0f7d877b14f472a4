#!/bin/bash
# Builds the C programs that are compared, and the one that measures the stack of calls:
# benches/programs.sh LIBRARY_FOLDER OUTPUT_FOLDER. Ours are linked with the library in the first
# folder, the peers' with the system's libraries.
set -euo pipefail
library=$(realpath "$1")
folder=$2
cd "$(dirname "$0")/.."
for program in benches/c/*.c tests/safety/stack.c; do
    name=$(basename "$program" .c)
    case "$name" in
    *_seconder | stack) link=(-L"$library" -l:libseconder.so.0 -Wl,-rpath,"$library") ;;
    *_libcurl) link=(-lcurl) ;;
    *_hmac | *_openssl) link=(-lcrypto) ;;
    *_liboath) link=(-loath) ;;
    *_pam) link=(-lpam -loath) ;;
    *) link=(-ldl) ;;
    esac
    "${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude -Itests/c "$program" \
        -o "$folder/$name" "${link[@]}"
done
