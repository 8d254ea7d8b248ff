package main

import (
	"slices"
	"strings"
)

// maxNear is how many names are offered for one that does not exist.
const maxNear = 3

// near returns the names that are most like one that does not exist: those that
// hold it or are held by it, and those with few letters changed.
func near(name string, names []string) []string {
	wanted := strings.ToLower(strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(name))
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, n := range names {
		have := strings.ToLower(n)
		d := distance(wanted, have)
		switch {
		case len(wanted) >= 2 && strings.Contains(have, wanted), len(have) >= 2 && strings.Contains(wanted, have):
			found = append(found, candidate{n, min(d, 1)})
		case d <= max(1, min(len(wanted), len(have))/3):
			found = append(found, candidate{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var out []string
	for _, c := range found[:min(len(found), maxNear)] {
		out = append(out, c.name)
	}
	return out
}

// distance is how many letters must be changed, added or left out to make a of b.
// What is far longer than any name is not measured.
func distance(a, b string) int {
	if len(a) > 128 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
