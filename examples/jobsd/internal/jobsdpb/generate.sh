#!/bin/sh
# Writes jobsd.pb.go from jobsd.proto. Needs protoc; the Go plugin is built from
# the protobuf version that go.mod names.
#
#	generate.sh          write the file
#	generate.sh --check  write nothing; exit 1 if the file is not current
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
mkdir "$tmp/out"
# The path of the file is registered process-wide, so it is as long as the package's name.
protoc --plugin="$tmp/protoc-gen-go" -Ifantasytools/jobsd/v1=. --go_out="$tmp/out" fantasytools/jobsd/v1/jobsd.proto \
	--go_opt=module=github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb
# The header names the protoc that ran; every release since 3.15 writes the same code.
sed -i.bak '/^\/\/ \tprotoc  *(*v/d' "$tmp/out/jobsd.pb.go"
if [ "${1:-}" = --check ]; then
	diff -u jobsd.pb.go "$tmp/out/jobsd.pb.go" || { echo "jobsd.pb.go is not current: run $PWD/generate.sh" >&2; exit 1; }
else
	mv "$tmp/out/jobsd.pb.go" jobsd.pb.go
fi
