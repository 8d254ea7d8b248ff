package pilot

import (
	"strings"
	"testing"
)

func TestADirectoryThatIsNotFoundIsNoSpellingMistakeOfTheModel(t *testing.T) {
	message := `cannot resolve "list-agents"`
	search := advice(&Error{Verb: "search", Code: codeNotFound, Message: message})
	if !strings.Contains(search, "the directory of specialists cannot be found") || strings.Contains(search, "pilot_search") {
		t.Errorf("search: %q", search)
	}
	if query := advice(&Error{Verb: "query", Code: codeNotFound, Message: message}); !strings.Contains(query, "check the spelling") {
		t.Errorf("query: %q", query)
	}
}
