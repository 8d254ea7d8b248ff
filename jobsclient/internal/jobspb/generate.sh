#!/bin/sh
# Writes jobs.pb.go from jobs.proto. Needs protoc; the Go plugin is built from
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
protoc --plugin="$tmp/protoc-gen-go" -Ifantasytools/jobs/v1=. --go_out="$tmp/out" fantasytools/jobs/v1/jobs.proto \
	--go_opt=module=github.com/fantasytools/fantasytools/jobsclient/internal/jobspb
# The header names the protoc that ran; every release since 3.15 writes the same code.
sed -i.bak '/^\/\/ \tprotoc  *(*v/d' "$tmp/out/jobs.pb.go"
if [ "${1:-}" = --check ]; then
	diff -u jobs.pb.go "$tmp/out/jobs.pb.go" || { echo "jobs.pb.go is not current: run $PWD/generate.sh" >&2; exit 1; }
else
	mv "$tmp/out/jobs.pb.go" jobs.pb.go
fi
