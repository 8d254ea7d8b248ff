// Package protocheck shows without protoc that committed protobuf code is current:
// the descriptor in it says what the .proto file says, and the generator makes this
// code of that descriptor. It is for tests.
package protocheck

import (
	"fmt"
	"os"
	"regexp"
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
)

// Current fails the test if the code that registers file is not what the generator
// makes of the .proto file. name is what both files are called before their
// extensions, in the current directory.
func Current(t *testing.T, file protoreflect.FileDescriptor, name string) {
	t.Helper()
	source, err := os.ReadFile(name + ".proto")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(render(file), withoutComments(string(source))); diff != "" {
		t.Errorf("%s.proto and %s.pb.go differ; run generate.sh (-descriptor +file):\n%s", name, name, diff)
	}
	committed, err := os.ReadFile(name + ".pb.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutComments(generate(t, file)), withoutComments(string(committed))); diff != "" {
		t.Errorf("%s.pb.go is not what the generator makes; run generate.sh (-made +committed):\n%s", name, diff)
	}
}

func generate(t *testing.T, descriptor protoreflect.FileDescriptor) string {
	t.Helper()
	file := protodesc.ToFileDescriptorProto(descriptor)
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file.GetName()},
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
		Parameter:      proto.String("paths=source_relative"),
	})
	if err != nil {
		t.Fatal(err)
	}
	internal_gengo.GenerateFile(plugin, plugin.Files[0])
	return plugin.Response().GetFile()[0].GetContent()
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
