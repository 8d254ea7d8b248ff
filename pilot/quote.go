package pilot

import (
	"sort"
	"strconv"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

const (
	// MaxBody is how many bytes of one message, event or justification the
	// model is shown in a list (4 KiB).
	MaxBody = 4 << 10

	// listBudget is what the entries of a list may fill together; the rest of
	// an answer's bound is left to the lines around them.
	listBudget = text.DefaultMax - 4<<10

	entryLine = 160 // bytes that the line above an entry needs, about
)

// quote marks the words of a peer: each line begins with "> ", so that a
// message cannot pass for another entry or for a line of ours.
func quote(s string, limit int) string {
	s = strings.Trim(words(s), "\n")
	if s == "" {
		return "> (empty)"
	}
	if n := quotedSize(s); n > limit {
		s = text.Cut(s, max(limit*len(s)/n, 1))
	}
	return "> " + strings.ReplaceAll(s, "\n", "\n> ")
}

// several is a number with its noun.
func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// words is a peer's text without control characters. A carriage return is an
// end of line there: nothing was redrawn.
func words(s string) string {
	return text.Clean(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s))
}

func quotedSize(s string) int { return len(s) + 2*(strings.Count(s, "\n")+1) }

// share divides the budget of a list among its texts: no text gets more than
// MaxBody, and what short ones do not need is left to the longer ones, so that
// every entry that was asked for is there.
func share(texts []string) (limit int) {
	sizes := make([]int, len(texts))
	for i, s := range texts {
		sizes[i] = quotedSize(s)
	}
	fits := func(limit int) bool {
		sum := entryLine * len(sizes)
		for _, size := range sizes {
			sum += min(size, limit)
		}
		return sum <= listBudget
	}
	return max(1, sort.Search(MaxBody, func(i int) bool { return !fits(i + 1) }))
}
