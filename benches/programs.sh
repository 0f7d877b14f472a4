#!/bin/bash
# Builds the programs in C that are compared: ours with the library in the folder that is the first
# argument, the peers' with the system's. They land in the folder that is the second.
set -euo pipefail
library=$(realpath "$1")
folder=$2
cd "$(dirname "$0")/.."
for program in benches/c/*.c; do
    name=$(basename "$program" .c)
    case "$name" in
    *_seconder) link=(-L"$library" -l:libseconder.so.0 -Wl,-rpath,"$library") ;;
    *_libcurl) link=(-lcurl) ;;
    *_hmac) link=(-lcrypto) ;;
    *_liboath) link=(-loath) ;;
    *) link=(-ldl) ;;
    esac
    "${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude "$program" -o "$folder/$name" "${link[@]}"
done
