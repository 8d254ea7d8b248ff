package tool

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fantasytools/fantasytools/internal/program"
	"github.com/fantasytools/fantasytools/internal/text"
)

// Bounds of a tool made from a [Def].
const (
	// DefaultTimeout is how long a call may run if its Def does not say.
	DefaultTimeout = 2 * time.Minute

	// MaxImage is the size in bytes up to which an image on stdout is handed to
	// the model as an image.
	MaxImage = 4 << 20

	// MaxDoc is how many bytes of a Doc are added to a description.
	MaxDoc = 16 << 10

	// MaxDescription is how many characters a Description may have. It is the
	// limit of OpenAI; a longer one makes a provider refuse all tools.
	MaxDescription = 1024
)

// Def defines a tool that runs one binary. The zero values of the optional
// fields are the defaults that their comments name.
type Def struct {
	// Name is what the model calls the tool by: a letter or an underscore, then
	// letters, digits, underscores and dashes, at most 64 characters. Names are
	// unique without regard to case, and differ from those of this library's own
	// tools (job_submit, pilot_send and so on).
	Name string

	// Description tells the model what the tool does and when to use it, in at
	// most MaxDescription characters.
	Description string

	// Binary is the program: an absolute path; a path with a slash, which
	// starts at the workDir; or a bare name, which is looked for in usr/bin
	// below the workDir and then in the absolute entries of PATH, never in the
	// current directory. It is resolved once, when the tools are loaded.
	Binary string

	// Args stand in front of the arguments of each call.
	Args []string

	// Doc is the path of a text, such as the program's usage, that is added to
	// the description, up to MaxDoc bytes of it. A relative path starts at the
	// workDir. A Doc that cannot be read is logged and left out.
	Doc string

	// Env changes the child's environment. "KEY=VALUE" sets a variable; "KEY"
	// passes one on that is withheld otherwise because its name looks like a
	// credential's. See the package documentation for what a child sees.
	Env []string

	// Timeout is how long a call may run. 0: DefaultTimeout; negative: no limit.
	Timeout time.Duration

	// MaxOutput is how many bytes of output the model is shown, notices aside.
	// 0: DefaultMaxOutput; negative: a load error.
	MaxOutput int

	// Parallel says that calls may run beside other calls of the same step, those
	// of this tool among them.
	Parallel bool
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// label names a Def in errors and logs.
func (d *Def) label(i int) string {
	if strings.TrimSpace(d.Name) != "" {
		return fmt.Sprintf("tool %.80q", d.Name)
	}
	return fmt.Sprintf("tool number %d (binary %.80q)", i+1, d.Binary)
}

// check returns all that is wrong with the Def by itself.
func (d *Def) check() []error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case strings.TrimSpace(d.Name) == "":
		add("the name is empty; give it one that says what the tool does")
	case !validName.MatchString(d.Name):
		add("the name may hold only letters, digits, underscores and dashes, begins with a letter or an underscore, and has at most 64 characters")
	case isReserved(d.Name):
		add("the name is that of a tool of this library; choose another")
	}
	switch n := utf8.RuneCountInString(d.Description); {
	case strings.ContainsRune(d.Description, 0):
		add("the description holds a NUL character")
	case strings.TrimSpace(text.Clean(d.Description)) == "":
		add("the description is empty; tell the model what the tool does")
	case n > MaxDescription:
		add("the description has %d characters, and providers take %d; move the details to a Doc", n, MaxDescription)
	}
	for i, arg := range d.Args {
		if strings.ContainsRune(arg, 0) {
			add("Args[%d] holds a NUL character", i)
		}
	}
	if d.MaxOutput < 0 {
		add("MaxOutput is %d; it is a number of bytes, or 0 for %d", d.MaxOutput, DefaultMaxOutput)
	}
	return append(errs, program.CheckEnv(d.Env)...)
}

func (d *Def) timeout() time.Duration { return cmp.Or(d.Timeout, DefaultTimeout) }

func (d *Def) maxOutput() int { return cmp.Or(d.MaxOutput, DefaultMaxOutput) }

// checkNames returns an error for each Def whose name another one has, compared
// without case, as some providers and most readers do.
func checkNames(defs []Def) []error {
	var errs []error
	first := make(map[string]int, len(defs))
	for i := range defs {
		name := strings.ToLower(strings.TrimSpace(defs[i].Name))
		if name == "" {
			continue
		}
		j, taken := first[name]
		if !taken {
			first[name] = i
			continue
		}
		errs = append(errs, fmt.Errorf("tool %q (number %d) and tool %q (number %d) have the same name; rename one",
			defs[j].Name, j+1, defs[i].Name, i+1))
	}
	return errs
}

// within puts the label of a Def in front of its errors.
func within(label string, errs []error) error {
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", label, err)
	}
	return errors.Join(errs...)
}
