package pilot

import (
	"bytes"
	"encoding/json"

	"github.com/fantasytools/fantasytools/internal/run"
)

// struck stands in the place of a secret.
const struck = "[secret]"

// strike removes secrets from what pilotctl printed, however they are written
// there: as they are, or escaped in JSON.
func strike(r *run.Result, secrets []string) {
	for _, stream := range []*run.Output{&r.Stdout, &r.Stderr} {
		if stream.Missing == 0 { // a secret may lie across the two ends
			stream.Head, stream.Tail = whole(*stream, nil), nil
		}
		for _, secret := range secrets {
			for _, form := range spellings(secret) {
				stream.Head, stream.Tail = without(stream.Head, form), without(stream.Tail, form)
				if stream.Missing > 0 {
					trim(stream, form)
				}
			}
		}
	}
}

func without(stream, secret []byte) []byte {
	if !bytes.Contains(stream, secret) {
		return stream
	}
	return bytes.ReplaceAll(stream, secret, []byte(struck))
}

// trim drops what may be one part of a secret whose other part was not kept.
func trim(stream *run.Output, secret []byte) {
	kept := len(stream.Head) + len(stream.Tail)
	for n := len(secret) - 1; n > 0; n-- {
		stream.Head = bytes.TrimSuffix(stream.Head, secret[:n])
		stream.Tail = bytes.TrimPrefix(stream.Tail, secret[len(secret)-n:])
	}
	stream.Missing += int64(kept - len(stream.Head) - len(stream.Tail))
}

// spellings are the forms in which encoders write a text.
func spellings(s string) [][]byte {
	forms := [][]byte{[]byte(s)}
	if plain, err := encode(s); err == nil {
		forms = append(forms, []byte(plain[1:len(plain)-1]))
	}
	if web, err := json.Marshal(s); err == nil {
		forms = append(forms, web[1:len(web)-1])
	}
	return forms
}
