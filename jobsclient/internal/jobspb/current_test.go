package jobspb_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// The two tests together show without protoc that the committed code is
// current: the descriptor in it says what jobs.proto says, and the generator
// makes this code of that descriptor.

func TestTheProtoFileSaysWhatTheGeneratedDescriptorSays(t *testing.T) {
	source, err := os.ReadFile("jobs.proto")
	if err != nil {
		t.Fatal(err)
	}
	want := render(jobspb.File_fantasytools_jobs_v1_jobs_proto)
	if diff := cmp.Diff(want, withoutComments(string(source))); diff != "" {
		t.Errorf("jobs.proto and jobs.pb.go differ; run generate.sh (-descriptor +file):\n%s", diff)
	}
}

func TestTheGeneratorMakesTheCommittedCode(t *testing.T) {
	file := protodesc.ToFileDescriptorProto(jobspb.File_fantasytools_jobs_v1_jobs_proto)
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file.GetName()},
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
		Parameter:      proto.String("paths=source_relative"),
	})
	if err != nil {
		t.Fatal(err)
	}
	internal_gengo.GenerateFile(plugin, plugin.Files[0])
	made := plugin.Response().GetFile()[0].GetContent()
	committed, err := os.ReadFile("jobs.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutComments(made), withoutComments(string(committed))); diff != "" {
		t.Errorf("jobs.pb.go is not what the generator makes; run generate.sh (-made +committed):\n%s", diff)
	}
}

func TestNothingIsRegisteredUnderTheDaemonsNames(t *testing.T) {
	file := jobspb.File_fantasytools_jobs_v1_jobs_proto
	if got := file.Path(); !strings.HasPrefix(got, "fantasytools/") {
		t.Errorf("the file is registered as %q, which another package may use too", got)
	}
	if got := file.Package(); got != "fantasytools.jobs.v1" {
		t.Errorf("the messages are registered in %q", got)
	}
}

var comment = regexp.MustCompile(`(?m)^\s*//.*\n|\s*// .*$`)

func withoutComments(source string) string {
	source = comment.ReplaceAllString(source, "")
	return regexp.MustCompile(`\n{2,}`).ReplaceAllString(strings.TrimSpace(source), "\n")
}

// render writes the file as a .proto, with the fields in the order of their
// declaration and without comments.
func render(f protoreflect.FileDescriptor) string {
	var b strings.Builder
	options := f.Options().(*descriptorpb.FileOptions)
	fmt.Fprintf(&b, "syntax = %q;\npackage %s;\noption go_package = %q;\n", f.Syntax(), f.Package(), options.GetGoPackage())
	for i := range f.Messages().Len() {
		renderMessage(&b, f.Messages().Get(i))
	}
	return strings.TrimSpace(b.String())
}

func renderMessage(b *strings.Builder, m protoreflect.MessageDescriptor) {
	if m.Fields().Len() == 0 {
		fmt.Fprintf(b, "message %s {}\n", m.Name())
		return
	}
	fmt.Fprintf(b, "message %s {\n", m.Name())
	for i := range m.ReservedRanges().Len() {
		fmt.Fprintf(b, "  reserved %d;\n", m.ReservedRanges().Get(i)[0])
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		fmt.Fprintf(b, "  %s %s = %d;\n", kind(f), f.Name(), f.Number())
	}
	b.WriteString("}\n")
}

func kind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", f.MapKey().Kind(), f.MapValue().Kind())
	case f.IsList():
		return "repeated " + single(f)
	}
	return single(f)
}

func single(f protoreflect.FieldDescriptor) string {
	if f.Message() != nil {
		return string(f.Message().Name())
	}
	return f.Kind().String()
}

// The daemon's numbers, so that a slip in jobs.proto shows here and not as an
// empty field against a real daemon.
func TestTheFieldsHaveTheDaemonsNumbers(t *testing.T) {
	want := map[string][]string{
		"Job": {"1 id", "2 agent_id", "4 bin", "5 args", "6 stdin", "7 status", "8 handle", "9 exit_code", "10 stdout", "11 stderr",
			"12 error", "13 created_at", "14 started_at", "15 finished_at", "16 labels"},
		"SubmitRequest":  {"1 agent_ref", "2 bin", "3 args", "4 stdin", "5 labels"},
		"SubmitResponse": {"1 job_id"},
		"JobRequest":     {"1 job_id"},
		"JobResponse":    {"1 job"},
		"CancelResponse": nil,
		"ListRequest":    {"1 agent_id", "2 status", "3 label_selector"},
		"ListResponse":   {"1 jobs"},
	}
	got := map[string][]string{}
	messages := jobspb.File_fantasytools_jobs_v1_jobs_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		var fields []string
		for j := range m.Fields().Len() {
			fields = append(fields, fmt.Sprintf("%d %s", m.Fields().Get(j).Number(), m.Fields().Get(j).Name()))
		}
		got[string(m.Name())] = slices.Clone(fields)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("field numbers (-want +got):\n%s", diff)
	}
}
