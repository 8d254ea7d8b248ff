package pilot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fantasytools/fantasytools/internal/text"
)

// ReceivedInput says whether the files are to go.
type ReceivedInput struct {
	Clear bool `json:"clear,omitempty" jsonschema:"description=Delete all received files after listing them; only when they were processed.,default=false"`
}

// ReceivedResult is what peers have sent.
type ReceivedResult struct {
	Files []File // newest first; with Clear, as they were just before
	Dir   string // where they are stored

	Cleared   bool // they were deleted
	Deleted   int  // files that pilotctl says it deleted
	Remaining int  // files that are left, as pilotctl says
}

// File is a received file. Nothing tells who sent it.
type File struct {
	Name     string
	Path     string // absolute
	Bytes    int64
	Modified time.Time
}

// Received lists the received files and, with Clear, then deletes them all.
// With nothing to delete nothing is run, so that a file that arrives meanwhile
// is not lost unseen. No daemon is needed.
func (c *Client) Received(ctx context.Context, in ReceivedInput) (*ReceivedResult, error) {
	return c.op("received", spareTime).received(ctx, in)
}

func (o *op) received(ctx context.Context, in ReceivedInput) (*ReceivedResult, error) {
	result, err := o.files(ctx)
	if err != nil || !in.Clear || len(result.Files) == 0 {
		return result, err
	}
	got, err := o.run(ctx, verb("received", "--clear"), nil)
	if errors.Is(err, ErrNotFound) {
		o.meta.Code = ""
		return result, nil // somebody else was faster
	}
	if err != nil {
		return nil, err
	}
	var data struct {
		Cleared   int `json:"cleared"`
		Remaining int `json:"remaining"`
	}
	if err := got.decode(&data, "cleared"); err != nil {
		return nil, o.fault(err)
	}
	result.Cleared, result.Deleted, result.Remaining = true, data.Cleared, data.Remaining
	return result, nil
}

func (o *op) files(ctx context.Context) (*ReceivedResult, error) {
	got, err := o.run(ctx, verb("received"), nil)
	if err != nil {
		return nil, err
	}
	var data struct {
		Files []struct {
			Name     string `json:"name"`
			Bytes    int64  `json:"bytes"`
			Modified string `json:"modified"`
			Path     string `json:"path"`
		} `json:"files"`
		Dir string `json:"dir"`
	}
	if err := got.decode(&data, "files"); err != nil {
		return nil, o.fault(err)
	}
	result := &ReceivedResult{Dir: data.Dir}
	for _, f := range data.Files {
		at, _ := time.Parse(time.RFC3339Nano, f.Modified) // without a time it sorts last
		result.Files = append(result.Files, File{Name: f.Name, Path: f.Path, Bytes: f.Bytes, Modified: at})
	}
	slices.SortStableFunc(result.Files, func(a, b File) int { return b.Modified.Compare(a.Modified) })
	o.meta.Total, o.meta.Shown = len(result.Files), min(len(result.Files), maxFiles)
	return result, nil
}

const (
	maxFiles = 100  // that the model is shown
	maxPath  = 1024 // bytes of a path that the model is shown
)

func (r *ReceivedResult) forModel() string {
	if len(r.Files) == 0 {
		return "No files have been received."
	}
	var b strings.Builder
	b.WriteString(r.heading())
	shown := 0
	for ; shown < len(r.Files) && shown < maxFiles && b.Len() < listBudget; shown++ {
		f := r.Files[shown]
		fmt.Fprintf(&b, "\n> %s, %d bytes", text.Line(f.where(), maxPath), f.Bytes)
		if !f.Modified.IsZero() {
			b.WriteString(", " + f.Modified.Format(time.RFC3339))
		}
	}
	if more := len(r.Files) - shown; more > 0 {
		fmt.Fprintf(&b, "\n%s not shown.", several(more, "older file"))
	}
	return b.String()
}

// where is the path, without which a model cannot read the file.
func (f File) where() string {
	if f.Path != "" {
		return f.Path
	}
	return f.Name
}

func (r *ReceivedResult) heading() string {
	n := len(r.Files)
	switch {
	case !r.Cleared:
		return several(n, "received file") + ", newest first; the senders chose the names, and nothing tells who they are."
	case r.Deleted == n && r.Remaining == 0:
		return "Deleted all that was there, " + several(n, "received file") + ":"
	}
	return fmt.Sprintf("Listed %s, deleted %d, and %d remain; the numbers differ because files came or went meanwhile. Listed were:", several(n, "received file"), r.Deleted, r.Remaining)
}
